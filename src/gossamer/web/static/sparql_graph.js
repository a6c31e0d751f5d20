// A result as a graph: every name in a box, every property on its line. Boxes are laid out within the width available, without
// overlap, and the drawing is as high as needed. It is made from the table and has the same data.
const MOST_FACTS = 150, NODE_H = 28, PROPERTY_H = 20, GAP = 10, TURNS = 250, LEAST = 120, MOST_EMPTY = 70;
const SVG = "http://www.w3.org/2000/svg";

export function toggle(table, box, button) {
  const isShown = box.hidden;
  box.hidden = !isShown;
  button.setAttribute("aria-expanded", String(isShown));
  button.textContent = isShown ? "Hide graph" : "Show as graph";
  if (!isShown) return;
  draw(table, box);
  box.focus({ preventScroll: true });
  if (!box.dataset.watched) new ResizeObserver(() => { if (box.clientWidth !== Number(box.dataset.width)) draw(table, box); }).observe(box);
  box.dataset.watched = "yes";
}

function draw(table, box) {
  const facts = [...table.tBodies[0].rows].slice(0, MOST_FACTS);
  const seen = getComputedStyle(box), width = box.clientWidth - parseFloat(seen.paddingLeft) - parseFloat(seen.paddingRight);
  if (width < LEAST) return; // it is hidden
  const { nodes, links } = graphOf(facts, measure(seen.fontFamily), Math.min(260, width * 0.45));
  const bodies = [...nodes, ...links.map((link) => link.label)];
  const height = layOut(bodies, links, width);
  const svg = element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Graph" });
  svg.append(arrow(), ...links.flatMap(linesOf), ...links.map(({ label }) => boxOf(label)), ...nodes.map(boxOf));
  const note = document.createElement("p"), cut = table.tBodies[0].rows.length - facts.length;
  note.className = "soft small";
  note.setAttribute("role", "status");
  const all = `${nodes.length} entities and values, ${facts.length} facts${cut ? `; ${cut} more facts are only in the table` : ""}. The table below has the same data.`;
  note.textContent = all;
  const part = document.createElement("div"); // an SVG with a focus listener would take the focus itself
  for (const event of ["focusin", "pointerover"]) {
    part.addEventListener(event, ({ target }) => { note.textContent = target.closest("[data-says]")?.dataset.says ?? all; });
  }
  part.addEventListener("focusout", () => { note.textContent = all; });
  part.append(svg);
  box.replaceChildren(part, note);
  box.dataset.width = String(box.clientWidth);
  box.dataset.drawn = String(nodes.length);
}

function graphOf(facts, widthOf, most) {
  const nodes = new Map(), links = [];
  const made = (cell, height, size, kind, href) => {
    const text = cell.textContent.trim().replace(/\s+/g, " "), name = cell.dataset.name ?? own(cell);
    const label = shortened(name, (part) => widthOf(part, size), most);
    return { label, says: name === text || !cell.dataset.name ? text : `${name}: ${text}`, kind, href, w: widthOf(label, size) + 16, h: height, x: 0, y: 0 };
  };
  for (const { cells: [subject, property, value] } of facts) {
    const [from, to] = [subject, value].map((cell) => {
      const key = cell.dataset.key;
      if (!nodes.has(key)) nodes.set(key, made(cell, NODE_H, 14, key.split(" ", 1)[0], cell.querySelector("a")?.getAttribute("href") ?? ""));
      return nodes.get(key);
    });
    links.push({ from, to, label: made(property, PROPERTY_H, 12, "property", "") });
  }
  return { nodes: [...nodes.values()], links };
}
const own = (cell) => (cell.querySelector("a")?.textContent ?? cell.firstChild?.textContent ?? "").trim().replace(/\s+/g, " ");
function measure(family) {
  const pen = document.createElement("canvas").getContext("2d");
  return (text, size) => { pen.font = `${size}px ${family}`; return Math.ceil(pen.measureText(text).width); };
}
// Of a URL the middle is left out: its host and its end are most informative.
function shortened(text, widthOf, most) {
  const letters = [...text.slice(0, 300)], isAddress = /^[a-z]+:\/\//.test(text);
  const cut = (kept) => (isAddress ? [...letters.slice(0, Math.ceil(kept / 2)), "…", ...letters.slice(letters.length - Math.floor(kept / 2))] : [...letters.slice(0, kept), "…"]).join("");
  if (text.length <= 300 && widthOf(text) <= most) return text;
  let least = 1, top = letters.length;
  while (least < top) {
    const middle = Math.ceil((least + top) / 2);
    if (widthOf(cut(middle)) <= most) least = middle; else top = middle - 1;
  }
  return cut(least);
}

// Springs along the lines, and every two boxes push each other apart; then remaining overlaps are removed. The layout of a graph
// is always the same. Returns the height.
function layOut(bodies, links, width) {
  const room = Math.max(44, Math.min(60, width / 16));
  bodies.forEach((one, number) => { one.x = width / 2 + room * Math.sqrt(number) * Math.cos(number * 2.4); one.y = room * Math.sqrt(number) * Math.sin(number * 2.4); });
  const springs = links.flatMap(({ from, to, label }) => [[from, label], [label, to]]);
  for (let turn = 0; turn < TURNS; turn++) {
    const heat = room * (1 - turn / TURNS) + 1;
    for (const one of bodies) { one.dx = (width / 2 - one.x) * 0.03; one.dy = -one.y * 0.12; }
    for (let i = 0; i < bodies.length; i++) {
      for (let j = 0; j < i; j++) push(bodies[i], bodies[j], room);
    }
    for (const [one, other] of springs) pull(one, other, room);
    for (const one of bodies) {
      const length = Math.hypot(one.dx, one.dy) || 1, step = Math.min(length, heat) / length;
      one.x = within(one.x + one.dx * step, one, width);
      one.y += one.dy * step;
    }
  }
  for (let turn = 0; turn < 400 && separated(bodies, width, turn > 150); turn++);
  return Math.ceil(compacted(bodies) + GAP);
}
// Removes empty bands and moves the first box to the top. Returns the bottom of the last one.
function compacted(bodies) {
  let bottom = 0, shift = 0;
  for (const one of bodies.sort((above, below) => above.y - above.h / 2 - (below.y - below.h / 2))) {
    const top = one.y - one.h / 2, room = bottom ? MOST_EMPTY : GAP;
    if (bottom === 0 || top + shift - bottom > room) shift = bottom + room - top;
    one.y += shift;
    bottom = Math.max(bottom, one.y + one.h / 2);
  }
  return bottom;
}
const within = (x, { w }, width) => Math.min(Math.max(x, w / 2 + 2), width - w / 2 - 2);
function push(one, other, room) {
  const x = (one.x - other.x) / 2 || 0.1, y = one.y - other.y || 0.1; // names are wider than high
  const force = (room * room) / (x * x + y * y);
  one.dx += x * force; one.dy += y * force; other.dx -= x * force; other.dy -= y * force;
}
function pull(one, other, room) {
  const x = one.x - other.x, y = one.y - other.y, force = Math.hypot(x, y) / room;
  one.dx -= x * force; one.dy -= y * force; other.dx += x * force; other.dy += y * force;
}
// Returns whether anything moved. `isDownOnly`: sideways there may be no room, downwards there always is.
function separated(bodies, width, isDownOnly) {
  let isMoved = false;
  bodies.sort((one, other) => one.y - other.y);
  for (let i = 0; i < bodies.length; i++) {
    for (let j = i + 1; j < bodies.length && bodies[j].y - bodies[i].y < NODE_H + GAP; j++) {
      const above = bodies[i], below = bodies[j];
      const x = (above.w + below.w) / 2 + GAP - Math.abs(above.x - below.x), y = (above.h + below.h) / 2 + GAP / 2 - (below.y - above.y);
      if (x <= 0.5 || y <= 0.5) continue;
      isMoved = true;
      if (isDownOnly) { below.y += y; continue; }
      if (y <= x) { above.y -= y / 2; below.y += y / 2; continue; }
      const [left, right] = above.x < below.x ? [above, below] : [below, above];
      left.x = within(left.x - x / 2, left, width);
      right.x = within(right.x + x / 2, right, width);
    }
  }
  return isMoved;
}

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}
function arrow() {
  const head = element("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, element("path", { d: "M0 0 8 4 0 8Z" }));
  return element("defs", {}, head);
}
function linesOf({ from, to, label }) {
  const end = edgeOf(to, label);
  return [
    element("line", { x1: from.x, y1: from.y, x2: label.x, y2: label.y }),
    element("line", { x1: label.x, y1: label.y, x2: end.x, y2: end.y, "marker-end": "url(#arrow)" }),
  ];
}
// Where the line from `other` meets the box.
function edgeOf(box, other) {
  const x = other.x - box.x, y = other.y - box.y;
  const part = Math.min(1, Math.min(Math.abs(box.w / 2 / (x || 1e-9)), Math.abs(box.h / 2 / (y || 1e-9))));
  return { x: box.x + x * part, y: box.y + y * part };
}
function boxOf({ label, says, kind, href, w, h, x, y }) {
  const parts = [
    element("title", {}, says),
    element("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: kind === "literal" ? 2 : h / 2 }),
    element("text", { x, y }, label),
  ];
  if (kind === "property") return element("g", { class: "property", "data-says": says }, ...parts);
  if (href.startsWith("/")) return element("a", { class: `node ${kind}`, href, "data-says": says }, ...parts);
  return element("g", { class: `node ${kind}`, tabindex: 0, role: "img", "data-says": says }, ...parts);
}
