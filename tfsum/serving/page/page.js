"use strict";
// The page of `tfsum serve`: it asks the server that it came from, as any other client does.

const WORDS = {
  en: {
    tagline: "The sentences that matter, in the text's own words.", language: "Language", model: "Model", token: "Token",
    text: "Text", edit: "Edit", example: "Example", file: "Open a file",
    hint: "Paste a text, or drop a file here: text, {1}Word, mail. {0} words.",
    query: "Question", query_hint: "Optional: what should the summary be about?", length: "Length",
    automatic: "as the model chooses", words: "{0} words at most", more: "More options", yes: "yes", no: "no", send: "Summarize", send_other: "Send",
    answer: "Summary", answer_other: "Answer", empty: "The summary will appear here.",
    empty_other: "The answer will appear here.", old: "Of the text before your changes.", copy: "Copy", copied: "Copied",
    download: "Download", heat: "Show how much each sentence matters",
    heat_asked: "Show how much each sentence has to do with the question", score: "Score {0}",
    heat_general: "Show how much each sentence matters, without the question",
    command: "The same request with curl", save: "Save request.json", reading: "The server is reading {0}…",
    asking: "The server is reading the text…", took: "Answered in {0} s.", shorter: "{0} of {1} words, in {2} s.",
    none: "The model chose no sentence.", no_text: "{0} has no text.",
    nothing: "There is no text yet. Paste one, open a file, or try the example.", keywords: "Keywords",
    whole: "All {0} words: the text is no longer than a summary. In {1} s.",
    address: "This is an address, and this server fetches no pages: it could be led into its own network. Save the page and open the file, or run: tfsum summarize {0}",
    cancel: "Cancel", cancelled: "Cancelled.", progress: "How much is read", passed: "{0} so far", left: "{0} %, about {1} left",
    waiting: "Texts of others come first: {0}. {1}", minutes: "{0} min {1} s", seconds: "{0} s", more_keywords: "The keywords come later…",
    auto: "By the text", news: "News", multilingual: "Multilingual",
    probability: "Log-probability of the answer: {0}", attention: "What each word of the answer looked at",
    alternatives: "What else the model considered at each position", written: "Answer", considered: "Most probable",
    row: "answer", label: "Label", share: "Probability", unreached: "The server cannot be reached.",
    models: "The server has no model yet. If it has just started, it is still loading: wait a minute.",
    denied: "This server needs its token.", history: "Earlier texts", kept: "Kept only in this browser.",
    forget: "Forget all",
  },
  ko: {
    tagline: "본문의 문장 그대로, 핵심만 골라 줍니다.", language: "언어", model: "모델", token: "토큰",
    text: "본문", edit: "편집", example: "예시", file: "파일 열기",
    hint: "텍스트를 붙여넣거나 파일(텍스트, {1}Word, 메일)을 끌어다 놓으세요. {0}단어.",
    query: "질문", query_hint: "선택 사항: 무엇에 관한 요약이 필요한가요?", length: "길이",
    automatic: "모델이 정함", words: "최대 {0}단어", more: "추가 옵션", yes: "예", no: "아니요", send: "요약하기", send_other: "보내기",
    answer: "요약", answer_other: "결과", empty: "요약이 여기에 표시됩니다.", empty_other: "결과가 여기에 표시됩니다.",
    old: "수정하기 전 본문의 결과입니다.", copy: "복사", copied: "복사됨", download: "내려받기", heat: "문장별 중요도 표시",
    heat_general: "문장별 중요도 표시(질문과 무관)", heat_asked: "질문과 문장의 관련도 표시", score: "점수 {0}",
    command: "curl로 같은 요청 보내기", save: "request.json 저장", reading: "서버가 {0} 파일을 읽고 있습니다…",
    asking: "서버가 본문을 읽고 있습니다…", took: "{0}초 만에 응답했습니다.", shorter: "{1}단어 중 {0}단어, {2}초",
    none: "선택된 문장이 없습니다.", no_text: "{0}에 텍스트가 없습니다.",
    nothing: "본문이 없습니다. 텍스트를 붙여넣거나 파일을 열거나 예시를 눌러 보세요.", keywords: "키워드",
    whole: "본문이 짧아 {0}단어를 모두 표시했습니다. {1}초",
    address: "주소만 입력하셨습니다. 이 서버는 내부 네트워크 접근에 악용될 수 있어 페이지를 가져오지 않습니다. 페이지를 저장해 파일로 열거나 다음 명령을 실행하세요. tfsum summarize {0}",
    cancel: "취소", cancelled: "취소했습니다.", progress: "읽은 비율", passed: "{0} 지남", left: "{0}%, 약 {1} 남음",
    waiting: "먼저 온 본문 {0}개를 기다리고 있습니다. {1} 지남", minutes: "{0}분 {1}초", seconds: "{0}초", more_keywords: "키워드를 찾고 있습니다…",
    auto: "본문에 맞게 선택", news: "뉴스", multilingual: "다국어",
    probability: "결과의 로그 확률: {0}", attention: "결과의 각 단어가 주목한 곳",
    alternatives: "각 위치에서 모델이 고려한 다른 단어", written: "결과", considered: "확률이 높은 단어",
    row: "결과", label: "레이블", share: "확률", unreached: "서버에 연결할 수 없습니다.",
    models: "서버에 아직 모델이 없습니다. 방금 시작했다면 로드 중이니 잠시 기다려 주세요.", denied: "이 서버는 토큰이 필요합니다.", history: "이전 본문",
    kept: "이 브라우저에만 저장됩니다.", forget: "모두 지우기",
  },
};
// Fields of `POST /summarize` that the page fills by itself; all others are under "More options", as the server describes them.
const FILLED = ["text", "texts", "model", "words", "query", "keywords", "all", "together"];
const FIELDS = { // name -> [label, meaning], where the server's English is not to be shown
  ko: {
    sentences: ["문장 수", "최대 문장 수. auto는 모델이 두 문장에서 네 문장 사이로 정합니다."],
    characters: ["글자 수", "최대 글자 수. 문장 사이의 공백도 셉니다."],
    share: ["비율", "본문 단어 수 대비 최대 비율. 예: 0.2"],
    min_score: ["최저 점수", "문장의 최저 점수. 0에서 1 사이."],
    fill: ["한도 채우기", "중요도가 아주 낮은 문장으로도 한도를 채웁니다."],
    query_weight: ["질문 비중", "질문을 얼마나 반영할지. 0에서 1 사이이며 기본값은 0.7입니다."],
    block_trigrams: ["반복 제외", "이미 뽑은 문장과 세 단어가 연달아 겹치는 문장을 제외합니다."],
    newline: ["줄바꿈", "줄바꿈의 의미. 문장의 끝, 문단 안의 줄바꿈, 또는 공백."],
  },
};
const LENGTHS = [0, 20, 30, 40, 60, 80, 100, 150, 200, 300, 500]; // words; 0: as the model chooses
const KEYWORDS = 8;
const KNOWN_AT_ALL = 0.3; // as in tfsum.tasks.bert_classifier.classified
const LONGEST_COMMAND = 100000; // characters, which a command may have; the text of a longer request is in a file
const KEPT = { texts: 20, characters: 200000 }; // of the history
const HISTORY = "tfsum.history", LANGUAGE = "tfsum.language", DRAFT = "tfsum.draft"; // names in the browser's storage
const ARCHITECTURE = ["bert", "sum", "ext", "abs", "transformer"]; // parts of a model's name that no reader needs
const AUTO = "auto", MULTILINGUAL = "bert_sum_ext_multilingual"; // the server chooses between this one and the news model
const ADDRESS = /^https?:\/\/\S+$/i;
const PAUSE = 300; // ms, after which the slider rests

const byId = (id) => document.getElementById(id);
let language = stored(LANGUAGE) ?? (navigator.language.startsWith("ko") ? "ko" : "en");
let models = [];
let sentences = {}; // language -> code of a warning -> its sentence, from the server
let asking = null; // what ends the request that runs
let moved = null; // the timer of the slider
let shown = null; // { asked, text, model, question, answer, every, seconds }: what stands on the page
let draft = null; // what stood in the controls before the page was loaded again, until the models are there

const fill = (text, values) => values.reduce((filled, value, i) => filled.replace(`{${i}}`, () => value), text);
const say = (name, ...values) => fill(WORDS[language][name], values);
const model = () => models.find((one) => one.name === byId("model").value);
const isExtractive = () => model()?.signatures.includes("extract") ?? true;
const isShown = () => shown !== null && shown.text === byId("text").value;
const addressOf = (text) => ADDRESS.test(text.trim()) ? say("address", text.trim()) : null;
const documents = () => byId("file").accept.includes(".html") ? "HTML, PDF, " : ""; // where the server reads them
const wordsOf = (text) => text.match(/\S+/g)?.length ?? 0;

// A browser may keep nothing.
function stored(name, place = "localStorage") {
  try {
    return JSON.parse(window[place].getItem(name));
  } catch (error) {
    return null;
  }
}

function store(name, value, place = "localStorage") {
  try {
    window[place].setItem(name, JSON.stringify(value));
  } catch (error) { /* full */ }
}

// What stands in the controls, for a page that is loaded again or come back to.
function keepDraft() {
  const values = Object.fromEntries(["text", "query", "length"].map((name) => [name, byId(name).value]));
  store(DRAFT, { ...values, model: byId("model").value || draft?.model, given: draft?.given ?? given() }, "sessionStorage");
}

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// Everything on the page that depends on the language or on the model.
function speak() {
  document.documentElement.lang = language;
  for (const found of document.querySelectorAll("[data-say]")) found.textContent = say(found.dataset.say);
  const extractive = isExtractive(), words = LENGTHS[byId("length").value];
  for (const found of document.querySelectorAll(".extractive")) found.hidden = !extractive;
  byId("send").textContent = say(extractive ? "send" : "send_other");
  byId("send").title = "Ctrl+Enter";
  byId("empty").textContent = say(extractive ? "empty" : "empty_other");
  byId("heat-said").textContent = say(heatOf(shown));
  byId("answer-title").textContent = say(extractive ? "answer" : "answer_other");
  byId("length-said").textContent = words ? say("words", words) : say("automatic");
  byId("length").setAttribute("aria-valuetext", byId("length-said").textContent);
  byId("keywords").setAttribute("aria-label", say("keywords"));
  byId("bar").setAttribute("aria-label", say("progress"));
  byId("query").placeholder = say("query_hint");
  byId("hint").textContent = addressOf(byId("text").value) ?? say("hint", wordsOf(byId("text").value), documents());
  for (const field of fields()) describe(field);
  nameModels();
}

// The controls of the request's other fields.
const fields = () => [...document.querySelectorAll("#fields [name]")];

// A control for a field: a menu where its values can be listed, and a line of text where not, which the server checks.
function control([name, { description, anyOf: forms, ...form }]) {
  const kinds = forms ?? [form];
  const values = kinds.some(({ type }) => type === "boolean") ? [true, false] : kinds.flatMap((kind) => kind.enum ?? []);
  const made = element(values.length ? "select" : "input", undefined,
    { id: `field-${name}`, name, autocomplete: "off", "aria-describedby": `meaning-${name}`, "data-meaning": description });
  if (values.length) made.append(...["", ...values].map((value) => element("option", String(value), { value })));
  const row = element("p");
  row.append(element("label", "", { for: made.id }), made, element("span", "", { id: `meaning-${name}`, class: "soft" }));
  return row;
}

// The words beside a control, in the language of the page.
function describe(field) {
  const title = `${field.name[0].toUpperCase()}${field.name.slice(1).replaceAll("_", " ")}`;
  const [label, meaning] = FIELDS[language]?.[field.name] ?? [title, field.dataset.meaning];
  document.querySelector(`label[for=${field.id}]`).textContent = label;
  byId(`meaning-${field.name}`).textContent = meaning;
  for (const option of field.options ?? []) {
    option.textContent = { "": say("automatic"), true: say("yes"), false: say("no") }[option.value] ?? option.value;
  }
}

// What was given to these controls: numbers and truth values as such, all else as it is written.
function given() {
  const values = fields().map((field) => [field.name, field.value.trim()]).filter(([, value]) => value);
  return Object.fromEntries(values.map(([name, value]) => {
    try {
      return [name, JSON.parse(value)];
    } catch (error) {
      return [name, value];
    }
  }));
}

async function send(path, body, signal) {
  const headers = body instanceof File ? {} : { "Content-Type": "application/json" };
  if (byId("token").value) headers.Authorization = `Bearer ${byId("token").value}`;
  let answer;
  try {
    answer = await fetch(path, body === undefined ? { headers } : { method: "POST", headers, body, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Error(say("unreached"));
  }
  if (answer.status === 401) {
    byId("token-control").hidden = false;
    byId("token").focus();
    throw new Error(say("denied"));
  }
  if (!answer.ok) throw new Error(JSON.parse(await answer.text()).error);
  return answer;
}

const request = async (...parts) => JSON.parse(await (await send(...parts)).text());

// The lines of JSON of an answer, as they come; an answer without lines is one.
async function* linesOf(answer, signal) {
  let text = "";
  try {
    for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
      const { done, value } = await reader.read();
      const lines = (text + (value ?? "")).split("\n");
      text = done ? "" : lines.pop();
      for (const line of lines) if (line) yield JSON.parse(line);
      if (done) return;
    }
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Error(say("unreached"));
  }
}

// Asks for a summary, which comes once or with its progress: `told` of each stage.
async function summarize(body, signal, told) {
  const answer = await send("page/summarize", JSON.stringify(body), signal);
  for await (const line of linesOf(answer, signal)) {
    if (line.error) throw new Error(line.error);
    if (line.progress) showProgress(line.progress);
    else told(line.answer ?? line);
  }
}

// The name of a model for people: what it is about, and its languages.
function titleOf({ name }) {
  if (name === AUTO) return say("auto");
  const names = new Intl.DisplayNames([language], { type: "language" }), languages = [], words = [];
  for (const part of name.split("_")) {
    const tongue = /^[a-z]{2}$/.test(part) && names.of(part);
    if (tongue && tongue !== part) languages.push(tongue);
    else if (!ARCHITECTURE.includes(part)) words.push(WORDS[language][part] ?? part);
  }
  const title = words.join(" ") || name;
  return `${title[0].toUpperCase()}${title.slice(1)}${languages.length ? ` (${languages.join(", ")})` : ""}`;
}

function nameModels() {
  const titles = models.map(titleOf);
  [...byId("model").options].forEach((option, i) => {
    const alone = titles.filter((title) => title === titles[i]).length === 1;
    option.textContent = alone ? titles[i] : models[i].name;
    option.title = models[i].name;
  });
}

async function loadModels() {
  const { models: found } = await request("models"), summarizers = found.filter((one) => one.summarizes);
  sentences = await request("page/warnings.json");
  const { schema } = (await request("openapi.json")).paths["/summarize"].post.requestBody.content["application/json"];
  const ofSeveral = (name) => schema.dependentRequired[name]?.includes("together"); // the page asks about one text
  const others = Object.entries(schema.properties).filter(([name]) => !FILLED.includes(name) && !ofSeveral(name));
  if (fields().length !== others.length) byId("fields").replaceChildren(...others.map(control));
  models = summarizers.length ? summarizers : found;
  const general = models.find((one) => one.name === MULTILINGUAL);
  if (general && models.length > 1) models = [{ ...general, name: AUTO }, ...models];
  const chosen = byId("model").value || draft?.model;
  byId("model").replaceChildren(...models.map((one) => element("option", one.name, { value: one.name })));
  if (models.some((one) => one.name === chosen)) byId("model").value = chosen;
  byId("model-control").hidden = models.length < 2;
  for (const field of fields()) field.value ||= draft?.given[field.name] ?? "";
  draft = null;
  speak();
  if (!models.length) throw new Error(say("models"));
}

// The request for a text: a path and a body. TensorFlow Serving's for classifiers, `POST /summarize` for others.
function questionOf(text) {
  const { name, kind } = model();
  if (kind === "classifier") return [`v1/models/${encodeURIComponent(name)}:predict`, { inputs: { text: [text] } }];
  if (!isExtractive()) return ["summarize", { text, model: name }];
  const words = LENGTHS[byId("length").value], query = byId("query").value.trim();
  return ["summarize", { text, model: name, ...(words && { words }), ...(query && { query }), keywords: KEYWORDS, ...given() }];
}

function commandOf([path, body]) {
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  const token = byId("token").value ? " -H 'Authorization: Bearer TOKEN'" : "";
  byId("save").hidden = quoted.length <= LONGEST_COMMAND;
  const data = byId("save").hidden ? `'${quoted}'` : "@request.json";
  return `curl${token} -d ${data} ${location.origin}/${path}`;
}

// Offsets of the server count characters, those of a page units of UTF-16.
function unitsOf(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (place) => place;
  const units = [0];
  for (const character of text) units.push(units[units.length - 1] + character.length);
  return (place) => units[place];
}

// The text with its sentences: those of the summary as links to it, all others with their score where it is known.
function marked({ text, answer, every }) {
  const unit = unitsOf(text), found = document.createDocumentFragment();
  // By their ends: in the summary a sentence may begin after its dateline.
  const places = new Map(answer.sentences.map((sentence, i) => [sentence.end, i]));
  let end = 0;
  for (const sentence of every ?? answer.sentences) {
    const i = places.get(sentence.end);
    found.append(text.slice(end, unit(sentence.start)));
    end = unit(sentence.end);
    const attributes = { class: i === undefined ? "sentence" : "sentence chosen" };
    if (every || heatOf(shown) === "heat") attributes.title = say("score", sentence.score.toFixed(2));
    if (i !== undefined) Object.assign(attributes, { id: `source-${i}`, href: `#summary-${i}` });
    const made = element(i === undefined ? "span" : "a", text.slice(unit(sentence.start), end), attributes);
    made.style.setProperty("--score", sentence.score.toFixed(3));
    found.append(made);
  }
  found.append(text.slice(end));
  return found;
}

// What the scores of all sentences are about: the text or the question, where the model tells that.
function heatOf(of) {
  if (!of?.question[1].query) return "heat";
  return of.model.signatures.includes("relevance") ? "heat_asked" : "heat_general";
}

function showSource() {
  const scores = new Map((shown.every ?? shown.answer.sentences).map(({ end, score }) => [end, score.toFixed(2)]));
  document.querySelectorAll("#answer .score").forEach((number, i) => {
    number.textContent = scores.get(shown.answer.sentences[i].end) ?? "";
  });
  byId("source").replaceChildren(marked(shown));
  document.body.classList.toggle("heated", byId("heat").checked);
}

// The summary as links to the places of its sentences, and the keywords.
function showSummary({ answer }) {
  const parts = [];
  answer.sentences.forEach((sentence, i) => {
    if (i) parts.push(" ");
    const said = element("a", sentence.text.replace(/\s+/g, " "), { class: "chosen", id: `summary-${i}`, href: `#source-${i}` });
    parts.push(said, element("span", "", { class: "score" }));
  });
  byId("answer").replaceChildren(...(parts.length ? parts : [say("none")]));
  showKeywords(shown);
  showSource();
  byId("source").scrollTop = byId("source-0") ? byId("source-0").offsetTop - byId("source").offsetTop - 16 : 0;
}

function showKeywords({ text, answer }) {
  const unit = unitsOf(text);
  const items = answer.keywords?.map((word) => {
    const chip = element("button", word.text, { type: "button" });
    chip.addEventListener("click", () => back() && select(unit(word.start), unit(word.end)));
    const item = element("li");
    item.append(chip);
    return item;
  });
  byId("keywords").replaceChildren(...(items ?? [element("li", say("more_keywords"), { class: "soft" })]));
}

// Selects a part of the shown text and scrolls to it.
function select(start, end) {
  const walker = document.createTreeWalker(byId("source"), NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let at = 0, node; (node = walker.nextNode()); at += node.length) {
    if (start >= at && start < at + node.length) range.setStart(node, start - at);
    if (end > at && end <= at + node.length) range.setEnd(node, end - at);
  }
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  const box = byId("source"), place = range.getBoundingClientRect();
  box.scrollTop += place.top - box.getBoundingClientRect().top - box.clientHeight / 3;
  box.scrollIntoView({ block: "nearest" });
  box.focus({ preventScroll: true });
}

// Shows the text to be read, with its marks, or the field to be written in.
function swap(reads) {
  byId("read").hidden = !reads;
  byId("edit").hidden = !reads;
  byId("text").hidden = reads;
}

// Back to the marked text after `Edit`; false where the text is another by now.
function back() {
  if (isShown()) swap(true);
  return isShown();
}

function partner(sentence) {
  return document.querySelector(sentence.getAttribute("href"));
}

const pointed = { mouse: null, focus: null }; // the sentences that are pointed at

function point(way, event, on) {
  const sentence = event.target.closest?.(".chosen");
  if (!sentence) return;
  pointed[way] = on ? sentence : null;
  for (const one of document.querySelectorAll(".strong")) one.classList.remove("strong");
  for (const one of Object.values(pointed)) {
    if (!one?.isConnected) continue;
    one.classList.add("strong");
    partner(one).classList.add("strong");
  }
  const other = partner(sentence), pane = byId("source");
  if (on && pane.contains(other)) {
    const place = other.getBoundingClientRect(), box = pane.getBoundingClientRect();
    if (place.bottom > box.bottom || place.top < box.top) pane.scrollTop += place.top - box.top - pane.clientHeight / 3;
  }
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

// What each word looked at: asked for when it is opened, since its first answer takes long.
function attention(text, name) {
  const details = element("details");
  details.append(element("summary", say("attention")));
  details.addEventListener("toggle", async () => {
    if (details.children.length > 1) return;
    try {
      const found = await request("page/attention", JSON.stringify({ model: name, text }));
      const rows = found.answer.map((word, i) => [word, ...found.attention[i].map(weight)]);
      details.append(table(say("attention"), [say("row"), ...found.source], rows));
      const others = found.alternatives.map((place, i) => [found.answer[i], element("td",
        place.map(([word, share]) => `${word} ${share.toFixed(2)}`).join(", "))]);
      details.append(element("h3", say("alternatives")),
        table(say("alternatives"), [say("written"), say("considered")], others));
    } catch (error) {
      byId("problem").textContent = error.message;
    }
  });
  return details;
}

function warningsOf({ known: [known], coverage: [coverage] }) {
  const found = known < KNOWN_AT_ALL ? [{ code: "language", known }] : [];
  return coverage < 1 ? [...found, { code: "long_text", coverage }] : found;
}

// The sentence of a warning, in the language of the page; what it names are shares.
function sentenceOf({ code, ...shares }) {
  const filled = Object.entries(shares).reduce(
    (text, [name, share]) => text.replace(`{${name}}`, `${Math.round(1000 * share) / 10}%`), sentences[language][code]);
  return `${filled[0].toUpperCase()}${filled.slice(1)}.`;
}

// The answer of a model that writes or labels.
function showOther({ text, model, answer }) {
  const details = [];
  if (model.kind === "classifier") {
    const { outputs } = answer;
    byId("answer").textContent = outputs.label[0];
    const rows = outputs.labels[0].map((label, i) => [label, weight(outputs.probability[0][i])]);
    details.push(table(say("label"), [say("label"), say("share")], rows));
  } else {
    byId("answer").textContent = answer.summary;
    details.push(element("p", say("probability", answer.log_probability.toFixed(2))));
    if (model.signatures.includes("attend")) details.push(attention(text, model.name));
  }
  byId("keywords").replaceChildren();
  byId("details").replaceChildren(...details);
}

// Shows the last answer, in the language of the page.
function present() {
  const { text, model, question, answer, seconds } = shown, extractive = Boolean(answer.sentences);
  if (extractive) {
    showSummary(shown);
    byId("details").replaceChildren();
  } else {
    showOther(shown);
  }
  const warnings = (answer.warnings ?? warningsOf(answer.outputs)).map(sentenceOf);
  byId("warnings").replaceChildren(...warnings.map((warning) => element("li", warning)));
  byId("command").textContent = commandOf(question);
  const all = wordsOf(text), words = extractive && wordsOf(answer.summary);
  byId("state").textContent = !extractive ? say("took", seconds)
    : words === all ? say("whole", all, seconds) : say("shorter", words, all, seconds);
  byId("result").classList.remove("old");
  byId("result").hidden = false;
  byId("empty").hidden = true;
  byId("copy").disabled = byId("download").disabled = false;
  speak();
}

let going = null; // { begin, progress }: since when something is asked for, and how far it is

const time = (seconds) => seconds < 60 ? say("seconds", Math.ceil(seconds))
  : say("minutes", Math.floor(seconds / 60), Math.floor(seconds % 60));

function showProgress(progress) {
  going.progress = progress;
  const { before, share, seconds } = progress, bar = byId("bar");
  const passed = say("passed", time((performance.now() - going.begin) / 1000));
  if (share === null) bar.removeAttribute("value");
  else bar.value = share;
  byId("going-said").textContent = share === null ? (before ? say("waiting", before, passed) : passed)
    : say("left", Math.floor(100 * share), time(seconds));
}

// Shows that something is asked for, and the way to stop it, or that nothing is.
function showGoing(on) {
  byId("going").hidden = byId("cancel").hidden = !on;
  byId("send").disabled = on;
  clearInterval(going?.timer);
  going = on ? { begin: performance.now() } : null;
  if (!on) return;
  const unknown = { before: 0, share: null };
  going.timer = setInterval(() => showProgress(going.progress ?? unknown), 1000);
  showProgress(unknown);
}

// Ends the request that runs: its answer would be to another text or model.
function cancel() {
  if (asking) byId("state").textContent = "";
  asking?.abort(); // the server stops to compute then
  asking = null;
  showGoing(false);
  byId("problem").textContent = "";
}

function cancelled() {
  const answered = shown?.asked === asking; // only its keywords or scores are asked for
  cancel();
  if (answered) complete();
  else byId("state").textContent = say("cancelled");
  byId("send").focus();
}

// Shows the answer without what has not come.
function complete() {
  if (shown.answer.sentences) shown.answer.keywords ??= [];
  byId("heat").checked &&= Boolean(shown.every);
  present();
}

// Does what asks the server, in place of what asked it before, and tells what is wrong. `work` takes who asks.
async function during(work) {
  cancel();
  const mine = asking = new AbortController();
  showGoing(true);
  try {
    await work(mine);
  } catch (error) {
    if (mine !== asking) return;
    if (shown?.asked === mine) complete();
    else byId("state").textContent = "";
    byId("problem").textContent = error.message;
  }
  if (mine !== asking) return;
  asking = null;
  showGoing(false);
}

// Sends the text. `moves`: whether the focus goes to the answer.
async function ask(moves) {
  const text = byId("text").value, address = addressOf(text), begin = performance.now();
  if (!text.trim() || address) {
    cancel();
    swap(false);
    byId("state").textContent = "";
    byId("problem").textContent = address ?? say("nothing");
    byId("text").focus();
    return;
  }
  await during(async (mine) => {
    byId("state").textContent = say("asking");
    await new Promise((done) => setTimeout(done)); // it is seen before a long text is made a request
    if (!models.length) await loadModels();
    const question = questionOf(text), chosen = model();
    const told = (answer) => {
      if (mine !== asking) return;
      if (shown?.asked === mine) { // its keywords have come
        shown.answer = answer;
        return showKeywords(shown);
      }
      const seconds = ((performance.now() - begin) / 1000).toFixed(2);
      shown = { asked: mine, text, model: chosen, question, answer, every: null, seconds };
      swap(Boolean(answer.sentences));
      present();
      keep({ text, model: chosen.name, length: byId("length").value, query: byId("query").value });
      if (moves) byId("result").focus({ preventScroll: true });
      if (moves) byId("answer-pane").scrollIntoView({ block: "nearest" });
    };
    if (question[0] === "summarize") await summarize(question[1], mine.signal, told);
    else told(await request(question[0], JSON.stringify(question[1]), mine.signal));
    if (shown?.asked === mine && shown.answer.sentences && byId("heat").checked) await askEvery(mine.signal);
  });
  if (moves && byId("problem").textContent) byId("send").focus();
}

// The text is another now: what stands beside it is an answer to the one before.
function changed() {
  cancel();
  if (shown && !isShown() && !byId("result").hidden) {
    byId("result").classList.add("old");
    byId("state").textContent = say("old");
  } else if (isShown() && !byId("result").hidden) {
    present();
  }
  speak();
}

function write(text) {
  byId("text").value = text;
  swap(false);
  changed();
}

function chooseModel() {
  cancel();
  byId("state").textContent = "";
  shown = null;
  byId("result").hidden = true;
  byId("empty").hidden = false;
  byId("copy").disabled = byId("download").disabled = true;
  swap(false);
  speak();
}

// Asks for all sentences of the shown text with their scores, by the question where the model can tell.
async function askEvery(signal) {
  const of = shown, { query } = of.question[1];
  const question = { text: of.text, model: of.model.name, all: true, ...(heatOf(of) === "heat_asked" && { query }) };
  await summarize(question, signal, (answer) => { of.every = answer.sentences; });
  if (of === shown) showSource();
}

async function heat() {
  if (!shown || !back()) return;
  if (byId("heat").checked && !shown.every) {
    await during((mine) => {
      shown.asked = mine;
      return askEvery(mine.signal);
    });
  }
  if (shown) showSource();
}

const answerText = () => shown.answer.summary ?? byId("answer").textContent;

async function copy() {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(answerText());
  } else { // a page that came over http from another machine
    const field = element("textarea");
    field.value = answerText();
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  byId("copy").textContent = say("copied");
  setTimeout(() => { byId("copy").textContent = say("copy"); }, 2000);
}

function download(name, content) {
  const address = URL.createObjectURL(new Blob([content], { type: "text/plain" }));
  element("a", "", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

const kept = () => stored(HISTORY) ?? [];

function keep(entry) {
  if (entry.text.length > KEPT.characters) return;
  store(HISTORY, [entry, ...kept().filter((one) => one.text !== entry.text)].slice(0, KEPT.texts));
  showHistory();
}

function showHistory() {
  const entries = kept();
  byId("history-pane").hidden = !entries.length;
  byId("history").replaceChildren(...entries.map((entry) => {
    const begin = entry.text.trim().slice(0, 160), item = element("li");
    const again = element("button", begin + (begin.length < 160 ? "" : "…"), { type: "button" });
    again.addEventListener("click", () => {
      if (models.some((one) => one.name === entry.model) && byId("model").value !== entry.model) {
        byId("model").value = entry.model;
        chooseModel();
      }
      byId("length").value = entry.length;
      byId("query").value = entry.query;
      write(entry.text);
      ask(true);
    });
    item.append(again);
    return item;
  }));
}

// The server reads files: text in any encoding, HTML, PDF, Word and mail.
async function open(file) {
  if (!file) return;
  let read = "";
  await during(async ({ signal }) => {
    byId("state").textContent = say("reading", file.name);
    const { text } = await request(`page/text?name=${encodeURIComponent(file.name)}`, file, signal);
    if (!text.trim()) throw new Error(say("no_text", file.name));
    read = text;
  });
  byId("file").value = "";
  if (!read) return;
  write(read);
  await ask(true);
}

async function example() {
  try {
    write(await (await fetch("page/example.txt")).text());
    await ask(true);
  } catch (error) {
    byId("problem").textContent = say("unreached");
  }
}

byId("language").value = language;
byId("language").addEventListener("change", (event) => {
  language = event.target.value;
  store(LANGUAGE, language);
  if (isShown() && !byId("result").hidden) present();
  speak();
});
byId("model").addEventListener("change", chooseModel);
byId("ask").addEventListener("submit", (event) => { event.preventDefault(); ask(true); });
byId("text").addEventListener("input", changed);
byId("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(true); });
byId("source").addEventListener("paste", (event) => { write(event.clipboardData.getData("text")); });
byId("length").addEventListener("input", () => {
  speak();
  clearTimeout(moved);
  if (isShown() && !byId("result").hidden) moved = setTimeout(() => ask(false), PAUSE);
});
byId("fields").addEventListener("change", () => { if (isShown() && !byId("result").hidden) ask(false); });
byId("cancel").addEventListener("click", cancelled);
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && asking) cancelled(); });
window.addEventListener("pagehide", keepDraft);
byId("edit").addEventListener("click", () => { swap(false); byId("text").focus(); });
byId("example").addEventListener("click", example);
byId("file").addEventListener("change", (event) => open(event.target.files[0]));
byId("heat").addEventListener("change", heat);
byId("copy").addEventListener("click", copy);
byId("download").addEventListener("click", () => download("summary.txt", `${answerText()}\n`));
byId("save").addEventListener("click", () => download("request.json", JSON.stringify(shown.question[1])));
byId("forget").addEventListener("click", () => { localStorage.removeItem(HISTORY); showHistory(); });
for (const [way, begin, end] of [["mouse", "mouseover", "mouseout"], ["focus", "focusin", "focusout"]]) {
  document.addEventListener(begin, (event) => point(way, event, true));
  document.addEventListener(end, (event) => point(way, event, false));
}
document.addEventListener("click", (event) => {
  const sentence = event.target.closest?.(".chosen");
  if (!sentence) return;
  event.preventDefault(); // no entry of the browser's history for a place on the page
  if (!back()) return;
  partner(sentence).scrollIntoView({ block: "nearest" });
  partner(sentence).focus({ preventScroll: true });
});
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => { // anywhere: the browser would leave the page for the file
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    byId("source-pane").classList.toggle("over", name === "dragover");
    if (name === "drop") open(event.dataTransfer.files[0]);
  });
}
byId("token").addEventListener("change", () => loadModels().catch(() => {}));
draft = stored(DRAFT, "sessionStorage");
for (const name of draft ? ["text", "query", "length"] : []) byId(name).value = draft[name];
speak();
showHistory();
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
