"use strict";
/* The live page. All text from data is put in as text; drawings come from the server, escaped there. */

const MOST_KEYS = 6;
const $ = (id) => document.getElementById(id);
const view = { window: "", column: "", keys: [], between: null, whole: null, follows: true, state: null, ended: false };

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/* Control characters, and those that turn text around, written out as in the charts and on the terminal. */
function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (found) => {
    const code = found.codePointAt(0);
    const [sign, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${sign}${code.toString(16).padStart(digits, "0")}`;
  });
}

async function ask(path, parameters = []) {
  const answer = await fetch(`${path}?${new URLSearchParams(parameters)}`, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return answer.json();
}

/* A call that runs at most once at a time, and once more if it was asked for meanwhile. */
function paced(work, pause) {
  let running = false, again = false;
  return async function run() {
    if (running) { again = true; return; }
    running = true;
    try { await work(); } catch (error) { showStatus("lost", "no answer"); }
    await new Promise((done) => setTimeout(done, pause));
    running = false;
    if (again) { again = false; run(); }
  };
}

function showStatus(look, text) {
  const status = $("status");
  if (status.textContent !== text) status.textContent = text;
  status.className = `status ${look}`;
}

const STATUS = { running: "running", done: "finished", stopped: "stopped", failed: "failed" };

function showState(state) {
  view.state = state;
  document.title = `${state.name}: windrow`;
  $("name").textContent = visible(state.name);
  if (!view.ended) showStatus(state.status, STATUS[state.status] || state.status);
  $("engine").textContent = { spark: "on Spark", local: "on the local engine", results: "results as they were written", checkpoint: "slices in a checkpoint" }[state.engine] || "";
  $("elapsed").textContent = state.engine === "spark" || state.engine === "local" ? state.elapsed : "";
  const message = $("message");
  message.hidden = !state.message;
  message.textContent = state.message;
  message.className = `message ${state.status}`;
  $("numbers").replaceChildren(...state.numbers.map(({ name, value, about }) =>
    element("div", { title: about, className: value.length > 10 ? "long" : "" },
      element("dt", { textContent: name }), element("dd", { textContent: value }))));
  options($("window"), state.windows, "window");
  $("window").hidden = state.windows.length < 2;
  options($("column"), state.columns, "column");
  $("column").hidden = !state.columns.length;
  $("notes-section").hidden = !state.notes.length;
  $("notes").replaceChildren(...state.notes.map((text) => element("li", { textContent: text })));
}

function options(select, names, property) {
  const have = [...select.options].map((option) => option.value);
  if (have.join("\n") !== names.join("\n")) {
    select.replaceChildren(...names.map((name) => element("option", { value: name, textContent: visible(name) || "all" })));
  }
  if (!names.includes(view[property])) view[property] = names[0] || "";
  select.value = view[property];
}

const refreshKeys = paced(async () => {
  const found = await ask("api/keys", [["window", view.window], ["column", view.column],
    ["search", $("search").value], ["order", $("order").value], ["limit", "300"]]);
  const shown = found.keys.length < found.matching ? `${found.keys.length} of ` : "";
  $("keys-count").textContent = found.matching === found.total ? `${shown}${found.total.toLocaleString("en")}`
    : `${shown}${found.matching.toLocaleString("en")} of ${found.total.toLocaleString("en")}`;
  const focused = document.activeElement && document.activeElement.value;
  const hadFocus = $("keys").contains(document.activeElement);
  $("keys").replaceChildren(...found.keys.map(keyItem));
  markKeys();
  if (hadFocus) {
    const again = [...$("keys").querySelectorAll("input")].find((box) => box.value === focused);
    if (again) again.focus({ preventScroll: true });
  }
}, 700);

function keyItem({ key, last, change }) {
  const box = element("input", { type: "checkbox", value: key });
  const value = element("span", { className: "value", textContent: last }, element("span", { className: "change", textContent: change === "0" ? "" : change }));
  return element("li", {}, element("label", { title: visible(key) }, box,
    element("i"), element("span", { className: "key", textContent: visible(key) }), value));
}

/* Which keys are drawn, and in which colour. */
function markKeys() {
  for (const box of $("keys").querySelectorAll("input")) {
    const place = view.keys.indexOf(box.value);
    box.checked = place >= 0;
    box.nextElementSibling.className = place >= 0 ? `c${place}` : "";
  }
}

function choose(key, chosen) {
  view.keys = view.keys.filter((each) => each !== key);
  if (chosen) view.keys = [...view.keys, key].slice(-MOST_KEYS);
  refreshTimeline();
}

const refreshTimeline = paced(async () => {
  const box = $("timeline");
  const width = Math.max(Math.round(box.clientWidth), 240);
  const parameters = [["window", view.window], ["column", view.column], ["width", String(width)]];
  if (view.between) parameters.push(["from", String(view.between[0])], ["to", String(view.between[1])]);
  for (const key of view.keys) parameters.push(["key", key]);
  const found = await ask("api/timeline", parameters);
  view.whole = found.whole && found.whole.map(BigInt);
  if (follow()) { refreshTimeline(); return; }
  view.keys = found.keys;
  markKeys();
  if (!found.svg) {
    box.replaceChildren(element("p", { className: "empty", textContent: empty() }));
  } else {
    box.replaceChildren(...new DOMParser().parseFromString(found.svg, "text/html").body.childNodes);
  }
  $("rows").replaceChildren(...found.rows.map((row) => element("tr", {},
    element("td", { textContent: visible(row.key) }), element("td", { textContent: row.start }),
    element("td", { textContent: row.end }), element("td", { className: "n", textContent: row.value }))));
  $("rows").closest(".scroll").hidden = !found.rows.length;
  $("help").hidden = !found.svg;
  const svg = box.querySelector("svg");
  $("extent").textContent = svg ? extent(svg) : "";
}, 150);

function empty() {
  if (!view.state) return "";
  if (!view.state.has_results) return "The results of this run are not read back; its numbers are above, its charts below.";
  return view.state.status === "running" ? "No window has come out yet." : "No window came out.";
}

function extent(svg) {
  const low = Number(svg.dataset.low), high = Number(svg.dataset.high);
  const part = view.between ? "" : "all: ";
  const forgotten = view.state && view.state.forgotten
    ? `; ${view.state.forgotten.toLocaleString("en")} older results are no longer kept` : "";
  if (Math.abs(high) < 1e8 || Math.abs(high) > 8e12) return `${part}${low} to ${high}${forgotten}`;
  const text = (seconds) => new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19);
  return `${part}${text(low)} to ${text(high)} UTC${forgotten}`;
}

/* With the latest in view, the picture moves on as windows come; whether it has moved. */
function follow() {
  if (!view.between || !view.whole || !view.follows || view.between[1] >= view.whole[1]) return false;
  const length = view.between[1] - view.between[0];
  view.between = [view.whole[1] - length, view.whole[1]];
  return true;
}

function show(low, high) {
  if (!view.whole) return;
  const [first, last] = view.whole, whole = last - first;
  let length = high - low;
  if (length < 4n) length = 4n;
  if (length >= whole) {
    view.between = null;
    view.follows = true;
  } else {
    if (low < first) low = first;
    if (low + length > last) low = last - length;
    view.between = [low, low + length];
    view.follows = low + length >= last;
  }
  refreshTimeline();
}

function move(how) {
  if (!view.whole) return;
  const [low, high] = view.between || view.whole, length = high - low, step = length / 4n || 1n;
  if (how === "earlier") show(low - step, high - step);
  if (how === "later") show(low + step, high + step);
  if (how === "in") show(low + step, high - step);
  if (how === "out") show(low - length / 2n, high + length / 2n);
  if (how === "all") show(view.whole[0], view.whole[1]);
  if (how === "latest") show(view.whole[1] - (view.between ? length : (length / 8n || 1n)), view.whole[1]);
}

const KEYS = { ArrowLeft: "earlier", ArrowRight: "later", "+": "in", "=": "in", "-": "out", 0: "all", Home: "all", End: "latest" };

function timeAt(svg, x) {
  const { left, right, low, high } = svg.dataset, box = svg.getBoundingClientRect();
  const place = (x - box.left) / box.width * svg.viewBox.baseVal.width;
  return Math.min(Math.max((place - left) / (right - left), 0), 1);
}

function dragging() {
  const box = $("timeline");
  let from = null, band = null;
  box.addEventListener("pointerdown", (event) => {
    const svg = box.querySelector("svg");
    if (!svg || event.button !== 0 || event.pointerType === "touch") return;
    from = event.clientX;
    band = element("div", { className: "chosen" });
    box.append(band);
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    if (from === null || !band) return;
    const origin = box.getBoundingClientRect().left;
    band.style.left = `${Math.min(from, event.clientX) - origin}px`;
    band.style.width = `${Math.abs(event.clientX - from)}px`;
  });
  box.addEventListener("pointerup", (event) => {
    const svg = box.querySelector("svg"), start = from;
    from = null;
    if (band) band.remove();
    if (start === null || !svg || !view.whole || Math.abs(event.clientX - start) < 6) return;
    const [low, high] = view.between || view.whole, length = Number(high - low);
    const ends = [timeAt(svg, start), timeAt(svg, event.clientX)].sort((a, b) => a - b);
    show(low + BigInt(Math.round(length * ends[0])), low + BigInt(Math.round(length * ends[1])));
  });
  box.addEventListener("pointercancel", () => { from = null; if (band) band.remove(); });
  box.addEventListener("dblclick", () => move("all"));
}

const refreshRun = paced(async () => {
  const found = await ask("api/run");
  $("run").replaceChildren(...new DOMParser().parseFromString(found.html, "text/html").body.childNodes);
  $("sentences").replaceChildren(...found.sentences.map((text) => element("li", { textContent: text })));
  $("run-section").hidden = !found.html && !found.sentences.length;
  $("run-section").dataset.shown = "yes";
}, 1500);

const refresh = paced(async () => {
  showState(await ask("api/state"));
  refreshTimeline();
  refreshKeys();
  refreshRun();
}, 400);

async function showJob() {
  const { text } = await ask("api/job");
  $("job-section").hidden = !text;
  $("job").textContent = text;
  $("job-section").dataset.shown = "yes";
}

function themes() {
  const names = { "": ["Auto", "as the system"], light: ["Light", "light"], dark: ["Dark", "dark"] };
  const set = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    $("theme").textContent = names[theme][0];
    $("theme").setAttribute("aria-label", `Colours: ${names[theme][1]}`);
    try { localStorage.setItem("windrow-theme", theme); } catch (error) { /* it is not kept */ }
  };
  let theme = "";
  try { theme = localStorage.getItem("windrow-theme") || ""; } catch (error) { /* as the system */ }
  set(theme in names ? theme : "");
  $("theme").addEventListener("click", () => {
    const order = Object.keys(names);
    set(order[(order.indexOf(document.documentElement.dataset.theme || "") + 1) % order.length]);
  });
}

function listen() {
  const source = new EventSource("events");
  source.addEventListener("change", () => refresh());
  source.addEventListener("end", async () => {
    source.close();
    view.ended = true;
    const status = view.state ? view.state.status : "";
    showStatus(status === "running" ? "lost" : status, `${STATUS[status] || "over"}; no longer served`);
  });
  source.onerror = () => { if (!view.ended) showStatus("lost", "connection lost: trying again"); };
  source.onopen = () => refresh();
}

themes();
dragging();
$("window").addEventListener("change", (event) => { view.window = event.target.value; view.keys = []; refreshTimeline(); refreshKeys(); });
$("column").addEventListener("change", (event) => { view.column = event.target.value; refreshTimeline(); refreshKeys(); });
$("order").addEventListener("change", refreshKeys);
$("search").addEventListener("input", refreshKeys);
$("keys").addEventListener("change", (event) => choose(event.target.value, event.target.checked));
for (const button of document.querySelectorAll("[data-move]")) button.addEventListener("click", () => move(button.dataset.move));
$("timeline").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  move(KEYS[event.key]);
});
let narrowing = 0;
addEventListener("resize", () => { clearTimeout(narrowing); narrowing = setTimeout(refreshTimeline, 150); });
showJob().catch(() => {});
listen();
