// Summarizes text files with a model that tfsum exported, in Node.js.
//
//   node summarize.js ../../saved_models/bert_sum_ext_news_en/3 ../article.txt
//
// Prints the output `summary` of the signature serving_default for each file, and a new line after it.

"use strict";
// Before TensorFlow is loaded: its notes about the processor.
process.env.TF_CPP_MIN_LOG_LEVEL ??= "2";
// TensorFlow.js calls functions that Node 23 removed.
const util = require("util");
util.isNullOrUndefined ??= (value) => value === null || value === undefined;
util.isArray ??= Array.isArray;

const fs = require("fs");
const tf = require("@tensorflow/tfjs-node");

async function main(folder, files) {
  if (!files.length) throw new Error("usage: node summarize.js MODEL FILE...");
  const model = await tf.node.loadSavedModel(folder, ["serve"], "serving_default");
  for (const file of files) {
    const text = tf.tensor([fs.readFileSync(file, "utf8")], [1], "string");
    const outputs = model.predict({ text });
    const [summary] = await outputs.summary.data();
    process.stdout.write(`${summary}\n`);
    tf.dispose([text, outputs]);
  }
  model.dispose();
}

main(process.argv[2], process.argv.slice(3)).catch((error) => {
  console.error(`summarize: ${error.message}`);
  process.exitCode = 1;
});
