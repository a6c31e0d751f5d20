// The SPARQL console: runs queries without leaving the page; cancels, sorts, pages, draws, and keeps recent queries.
// Without this script the form submits and the server renders the result. The editor is in sparql_editor.js.
import { edit } from "/static/sparql_editor.js";

const form = document.getElementById("ask");
const area = document.getElementById("query");
const stop = document.getElementById("stop"), clock = document.getElementById("clock"), go = document.getElementById("go");
const inference = form.elements.inference, names = form.elements.names;
const PAGE = 100, PAST = "gossamer.sparql.past", MOST_PAST = 20, LONGEST_SHARED = 6000;
let editor = null, running = null;

const query = () => (editor ? editor.text() : area.value);
function put(text) {
  area.value = text;
  editor?.put(text);
}

// Runs the query. Closing the connection frees the worker on the server.
async function run(isNew) {
  running?.abort();
  const text = query(), here = new AbortController();
  running = here;
  area.value = text;
  const began = performance.now();
  const ticking = setInterval(() => { clock.textContent = `${((performance.now() - began) / 1000).toFixed(1)} s`; }, 100);
  clock.textContent = "0.0 s";
  busy(true);
  try {
    const answer = await fetch(...request(text, here.signal));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = page.getElementById("answer");
    if (!part) throw new Error(page.querySelector("main p")?.textContent ?? "The result cannot be shown.");
    show(part);
    remember(text);
    if (isNew) history.pushState({ text }, "", part.dataset.address ? `/sparql?${part.dataset.address}` : "/sparql");
  } catch (trouble) {
    if (running === here) notify(here.signal.aborted ? `Cancelled after ${clock.textContent}.` : `The query failed: ${trouble.message}`);
  } finally {
    clearInterval(ticking);
    if (running === here) { running = null; busy(false); }
  }
}
function request(text, signal) {
  const fields = new URLSearchParams({ query: text });
  if (inference.checked) fields.set("inference", "rdfs");
  if (names.checked) fields.set("names", "exact");
  for (const name of ["default-graph-uri", "named-graph-uri"]) {
    for (const graph of new URLSearchParams(location.search).getAll(name)) fields.append(name, graph);
  }
  const headers = { accept: "text/html" };
  if (fields.toString().length <= LONGEST_SHARED) return [`/sparql?${fields}`, { headers, signal }];
  return ["/sparql", { method: "POST", body: fields, headers, signal }];
}
function busy(isBusy) {
  stop.hidden = clock.hidden = !isBusy;
  go.disabled = isBusy;
  document.getElementById("answer").setAttribute("aria-busy", String(isBusy));
}
function notify(words) {
  const part = document.createElement("section"), note = document.createElement("div"), line = document.createElement("p");
  part.id = "answer";
  note.className = "note";
  note.setAttribute("role", "status");
  line.textContent = words;
  note.append(line);
  part.append(note);
  show(part);
}
function show(part) {
  const old = document.getElementById("answer"), fresh = document.adoptNode(part);
  fresh.hidden = false;
  old.replaceWith(fresh);
  enhance();
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  run(true);
});
stop.addEventListener("click", () => { running?.abort(); go.disabled = false; editor ? editor.focus() : area.focus(); });
addEventListener("keydown", (event) => { if (event.key === "Escape" && running && !event.defaultPrevented) running.abort(); });
addEventListener("popstate", () => location.reload());

// The result: sorted by a click on a column, a hundred rows at a time, or as a graph (sparql_graph.js).
function enhance() {
  const mistake = document.querySelector("#answer [data-line]");
  editor?.mark(mistake ? { line: Number(mistake.dataset.line), column: Number(mistake.dataset.column), words: mistake.textContent.trim() } : null);
  const wrong = document.querySelector("#answer .error");
  area.toggleAttribute("aria-invalid", Boolean(wrong));
  const table = document.getElementById("rows");
  if (!table) return;
  for (const [number, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, number));
    head.append(button);
  }
  page(table, PAGE);
  const draw = document.getElementById("draw");
  if (draw) {
    draw.hidden = false;
    draw.addEventListener("click", async () => {
      const { toggle } = await import("/static/sparql_graph.js");
      toggle(table, document.getElementById("drawing"), draw);
    });
  }
}
const words = new Intl.Collator("en", { numeric: true });
function sort(table, number) {
  const head = table.tHead.rows[0].cells[number], body = table.tBodies[0];
  const isDown = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  const key = (row) => row.cells[number].textContent.trim();
  const value = (text) => (text === "" || isNaN(text) ? null : Number(text));
  const rows = [...body.rows].map((row) => [row, key(row), value(key(row))]);
  rows.sort(([, a, x], [, b, y]) => (x !== null && y !== null ? x - y : words.compare(a, b)) * (isDown ? -1 : 1));
  body.append(...rows.map(([row]) => row));
  page(table, Number(table.dataset.shown));
}
function page(table, most) {
  const rows = [...table.tBodies[0].rows], shown = Math.min(most, rows.length);
  table.dataset.shown = String(shown);
  rows.forEach((row, number) => { row.hidden = number >= shown; });
  let more = document.getElementById("more");
  if (!more && rows.length > shown) {
    more = document.createElement("p");
    more.id = "more";
    more.className = "row";
    const button = document.createElement("button"), text = document.createElement("span");
    button.type = "button";
    button.className = "quiet";
    button.textContent = `Show ${PAGE} more`;
    button.addEventListener("click", () => {
      const first = Number(table.dataset.shown);
      page(table, first + PAGE);
      table.tBodies[0].rows[first]?.querySelector("a")?.focus();
    });
    text.className = "soft small";
    more.append(button, text);
    table.parentElement.after(more);
  }
  if (!more) return;
  more.lastChild.textContent = `${shown} of ${rows.length} rows`;
  more.firstChild.hidden = shown >= rows.length;
}

// Recent queries, in this browser only.
function past() {
  try { return JSON.parse(localStorage.getItem(PAST) ?? "[]").filter((one) => typeof one === "string"); } catch { return []; }
}
function remember(text) {
  if (!text.trim()) return;
  try { localStorage.setItem(PAST, JSON.stringify([text, ...past().filter((one) => one !== text)].slice(0, MOST_PAST))); } catch { return; }
  showPast();
}
function showPast() {
  const all = past(), list = document.getElementById("past-list");
  document.getElementById("past").hidden = all.length === 0;
  list.replaceChildren(...all.map((one) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.className = "quiet small";
    button.textContent = one.replace(/^(\s*(PREFIX|BASE)[^\n]*\n)+/i, "").replace(/\s+/g, " ").trim() || one;
    button.title = one;
    button.addEventListener("click", () => { put(one); editor ? editor.focus() : area.focus(); });
    item.append(button);
    return item;
  }));
}
document.getElementById("past-clear").addEventListener("click", () => {
  localStorage.removeItem(PAST);
  showPast();
});

showPast();
enhance();
if (new URLSearchParams(location.search).has("query") && document.querySelector("#answer [role=status]")) remember(area.value);
edit(document.getElementById("editor"), area, () => form.requestSubmit()).then((made) => {
  editor = made;
  enhanceMark();
}, () => { /* the plain box stays */ });
function enhanceMark() {
  const mistake = document.querySelector("#answer [data-line]");
  if (mistake) editor.mark({ line: Number(mistake.dataset.line), column: Number(mistake.dataset.column), words: mistake.textContent.trim() });
}
