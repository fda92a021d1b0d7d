"use strict";
// The page of `tfsum serve`: it asks the server that it came from, over the same REST API as any other client.

const WORDS = {
  en: {
    language: "Language", text: "Text", hint: "Paste a text, or drop a text file here.", file: "Text file",
    model: "Model", length: "Sentences", token: "Token", send: "Summarize", answer: "Answer",
    command: "The same by curl", asking: "The server is reading the text …", took: "Answered in {0} s.",
    source: "Where the sentences stand, with their scores", none: "The model chose no sentence.",
    nothing: "There is no text yet. Paste one, or choose a file.",
    coverage: "The model read {0} % of the text; sentences longer than its window were cut.",
    unknown: "Only {0} % of the words are known to the model: it was trained on another language, and the answer " +
      "means little.",
    cut: "The answer is as long as this model may answer, and may lack its end.",
    probability: "Log-probability of the answer: {0}", attention: "What each word of the answer looked at",
    alternatives: "What else the model considered at each position", written: "Answer", considered: "Most probable",
    row: "answer", label: "Label", share: "Probability", unreached: "The server cannot be reached.",
    models: "The server has no model yet.", denied: "This server needs its token.", file_bad: "{0} is no text file.",
  },
  ko: {
    language: "언어", text: "본문", hint: "텍스트를 붙여넣거나 텍스트 파일을 여기에 끌어다 놓으세요.", file: "텍스트 파일",
    model: "모델", length: "문장 수", token: "토큰", send: "요약하기", answer: "결과",
    command: "curl로 같은 요청 보내기", asking: "서버가 본문을 읽고 있습니다 …", took: "{0}초 만에 응답했습니다.",
    source: "선택된 문장의 위치와 점수", none: "선택된 문장이 없습니다.",
    nothing: "본문이 없습니다. 텍스트를 붙여넣거나 파일을 고르세요.",
    coverage: "모델이 본문의 {0} %만 읽었습니다. 윈도보다 긴 문장은 잘렸습니다.",
    unknown: "모델이 아는 단어가 {0} %뿐입니다. 다른 언어로 학습한 모델이므로 결과를 신뢰하기 어렵습니다.",
    cut: "결과가 이 모델의 최대 길이에 이르러 끝부분이 잘렸을 수 있습니다.",
    probability: "결과의 로그 확률: {0}", attention: "결과의 각 단어가 주목한 곳",
    alternatives: "각 위치에서 모델이 고려한 다른 단어", written: "결과", considered: "확률이 높은 단어",
    row: "결과", label: "레이블", share: "확률", unreached: "서버에 연결할 수 없습니다.",
    models: "서버에 아직 모델이 없습니다.", denied: "이 서버는 토큰이 필요합니다.", file_bad: "{0}은(는) 텍스트 파일이 아닙니다.",
  },
};
const KNOWN_ENOUGH = 0.6; // as in tfsum.inference.texts
const LONGEST_COMMAND = 2000; // characters; a longer request is shown with its text in a file

const byId = (id) => document.getElementById(id);
let language = navigator.language.startsWith("ko") ? "ko" : "en";
let models = [];

const say = (name, ...values) => values.reduce((text, value, i) => text.replace(`{${i}}`, value), WORDS[language][name]);

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function speak() {
  document.documentElement.lang = language;
  for (const found of document.querySelectorAll("[data-say]")) found.textContent = say(found.dataset.say);
}

async function request(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (byId("token").value) headers.Authorization = `Bearer ${byId("token").value}`;
  let answer;
  try {
    answer = await fetch(path, body === undefined ? { headers } : { method: "POST", headers, body });
  } catch (error) {
    throw new Error(say("unreached"));
  }
  if (answer.status === 401) {
    byId("token-control").hidden = false;
    byId("token").focus();
    throw new Error(say("denied"));
  }
  const found = JSON.parse(await answer.text());
  if (!answer.ok) throw new Error(found.error);
  return found;
}

async function loadModels() {
  models = (await request("models")).models;
  const chosen = byId("model").value;
  byId("model").replaceChildren(...models.map((model) => element("option", model.name, { value: model.name })));
  if (models.some((model) => model.name === chosen)) byId("model").value = chosen;
  if (!models.length) throw new Error(say("models"));
  fitModel();
}

const model = () => models.find((one) => one.name === byId("model").value);

function fitModel() {
  const extractive = model()?.kind === "extractive";
  byId("length-control").hidden = !extractive;
  if (extractive) byId("length").max = model().max_sentences;
}

function questionOf(text) {
  if (model().kind !== "extractive") return { inputs: { text: [text] } };
  return { signature_name: "summarize",
    inputs: { text: [text], max_sentences: [Number(byId("length").value)], block_trigrams: [false] } };
}

function commandOf(question) {
  const quoted = JSON.stringify(question).replaceAll("'", "'\\''");
  const token = byId("token").value ? " -H 'Authorization: Bearer TOKEN'" : "";
  const data = quoted.length > LONGEST_COMMAND ? "@request.json" : `'${quoted}'`;
  return `curl${token} -d ${data} ${location.origin}/v1/models/${encodeURIComponent(model().name)}:predict`;
}

// The text with the chosen sentences marked. Offsets are of bytes in UTF-8, and a page counts in UTF-16.
function marked(text, outputs) {
  const bytes = new TextEncoder().encode(text);
  const decode = (from, to) => new TextDecoder().decode(bytes.subarray(from, to));
  const shown = element("div", undefined, { id: "source", tabindex: "0", "aria-labelledby": "source-title" });
  let end = 0;
  for (let i = 0; i < outputs.count[0]; i++) {
    shown.append(decode(end, outputs.start[0][i]));
    const mark = element("mark", decode(outputs.start[0][i], outputs.end[0][i]));
    mark.append(element("sup", outputs.score[0][i].toFixed(2)));
    shown.append(mark);
    end = outputs.end[0][i];
  }
  shown.append(decode(end));
  return [element("h2", say("source"), { id: "source-title" }), shown];
}

function table(name, head, rows) {
  const made = element("table");
  const top = made.createTHead().insertRow();
  for (const title of head) top.append(element("th", title, { scope: "col" }));
  const body = made.createTBody();
  for (const [first, ...others] of rows) {
    const row = body.insertRow();
    row.append(element("th", first, { scope: "row" }));
    for (const value of others) row.append(value);
  }
  const around = element("div", undefined, { class: "wide", tabindex: "0", role: "region", "aria-label": name });
  around.append(made);
  return around;
}

function weight(value) {
  const cell = element("td", value.toFixed(2), { class: "number" });
  cell.style.backgroundColor = `color-mix(in srgb, var(--mark) ${Math.round(100 * value)}%, transparent)`;
  return cell;
}

async function attention(text) {
  const found = await request("page/attention", JSON.stringify({ model: model().name, text }));
  const rows = found.answer.map((word, i) => [word, ...found.attention[i].map(weight)]);
  const shown = [element("h2", say("attention")), table(say("attention"), [say("row"), ...found.source], rows)];
  if (found.alternatives) {
    const others = found.alternatives.map((place, i) => [found.answer[i], element("td",
      place.map(([word, share]) => `${word} ${share.toFixed(2)}`).join(", "))]);
    shown.push(element("h2", say("alternatives")),
      table(say("alternatives"), [say("written"), say("considered")], others));
  }
  return shown;
}

function warningsOf(outputs) {
  const found = [];
  if (outputs.known?.[0] < KNOWN_ENOUGH) found.push(say("unknown", Math.round(100 * outputs.known[0])));
  if (outputs.coverage?.[0] < 1) found.push(say("coverage", (100 * outputs.coverage[0]).toFixed(1)));
  if (outputs.ended?.[0] === false) found.push(say("cut"));
  return found;
}

async function show(text, question) {
  const { outputs } = await request(`v1/models/${encodeURIComponent(model().name)}:predict`, JSON.stringify(question));
  const details = [];
  if (model().kind === "extractive") {
    byId("answer").textContent = outputs.summary[0] || say("none");
    details.push(...marked(text, outputs));
  } else if (model().kind === "classifier") {
    byId("answer").textContent = outputs.label[0];
    const rows = outputs.labels[0].map((label, i) => [label, weight(outputs.probability[0][i])]);
    details.push(table(say("label"), [say("label"), say("share")], rows));
  } else {
    byId("answer").textContent = outputs.summary[0];
    details.push(element("p", say("probability", outputs.log_probability[0].toFixed(2))));
    if (model().signatures.includes("attend")) details.push(...await attention(text));
  }
  byId("warnings").replaceChildren(...warningsOf(outputs).map((warning) => element("li", warning)));
  byId("details").replaceChildren(...details);
  byId("command").textContent = commandOf(question);
}

async function ask(event) {
  event.preventDefault();
  const text = byId("text").value;
  byId("problem").textContent = "";
  byId("result").hidden = true;
  if (!text.trim()) {
    byId("problem").textContent = say("nothing");
    byId("text").focus();
    return;
  }
  byId("send").disabled = true;
  byId("state").textContent = say("asking");
  const begin = performance.now();
  try {
    if (!models.length) await loadModels();
    await show(text, questionOf(text));
    byId("state").textContent = say("took", ((performance.now() - begin) / 1000).toFixed(2));
    byId("result").hidden = false;
    byId("result").focus();
  } catch (error) {
    byId("state").textContent = "";
    byId("problem").textContent = error.message;
  } finally {
    byId("send").disabled = false;
  }
}

async function read(file) {
  if (!file) return;
  try {
    byId("text").value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    byId("problem").textContent = "";
  } catch (error) {
    byId("problem").textContent = say("file_bad", file.name);
  }
}

byId("language").value = language;
byId("language").addEventListener("change", (event) => { language = event.target.value; speak(); });
byId("model").addEventListener("change", fitModel);
byId("ask").addEventListener("submit", ask);
byId("file").addEventListener("change", (event) => read(event.target.files[0]));
for (const name of ["dragover", "dragleave", "drop"]) {
  byId("text").addEventListener(name, (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    byId("text").classList.toggle("over", name === "dragover");
    if (name === "drop") read(event.dataTransfer.files[0]);
  });
}
byId("token").addEventListener("change", () => loadModels().catch(() => {}));
speak();
// The server listens before its models are loaded: the page asks until all are that were found at its start.
async function firstModels() {
  let ready = false, failed = false;
  try {
    ready = (await fetch("readyz")).ok;
    await loadModels();
    if (byId("problem").textContent === say("models")) byId("problem").textContent = "";
  } catch (error) {
    byId("problem").textContent = error.message;
    failed = error.message !== say("models");
  }
  if (!failed && !(ready && models.length)) setTimeout(firstModels, 2000);
}
firstModels();
