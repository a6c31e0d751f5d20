// The graph of related entities. It is made from the table next to it, so both have the same data; the library that draws it is
// loaded when the graph comes into view.
"use strict";
(() => {
  const box = document.getElementById("graph");
  const table = document.getElementById("neighbours");
  if (!box || !table) return;
  const status = document.getElementById("graph-says");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  const rows = [...table.tBodies[0].rows].map((row) => ({ ...row.dataset }));
  const isNarrow = () => box.clientWidth < 560;
  const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);

  function elements() {
    const made = [{ data: { id: "it", name: cut(box.dataset.name, 40), side: "it" }, position: { x: 0, y: 0 } }];
    const placed = { in: 0, out: 0 };
    const count = { in: rows.filter((row) => row.direction === "in").length };
    count.out = rows.length - count.in;
    rows.forEach((row, number) => {
      const side = row.direction;
      const at = isNarrow()
        ? { x: 34, y: 46 * (number + 1) }
        : { x: side === "out" ? 170 : -170, y: 40 * (placed[side]++ - (count[side] - 1) / 2) };
      made.push({ data: { id: `n${number}`, name: isNarrow() ? cut(`${row.property} · ${row.name}`, 42) : cut(row.name, 28), side, href: row.href ?? "", row: number }, position: at });
      const ends = side === "out" ? { source: "it", target: `n${number}` } : { source: `n${number}`, target: "it" };
      made.push({ data: { id: `e${number}`, name: cut(row.property.split(":").pop(), 18), side, ...ends } });
    });
    return made;
  }

  function style() {
    const styles = getComputedStyle(box);
    const ink = styles.color, ground = styles.backgroundColor, line = styles.textDecorationColor, accent = styles.caretColor;
    const label = { label: "data(name)", color: ink, "font-size": 14, "font-family": styles.fontFamily, "text-valign": "center" };
    const edgeLabel = { "font-size": 12, color: ink, "text-background-color": ground, "text-background-opacity": 1, "text-background-padding": 2 };
    const right = { "text-halign": "right", "text-margin-x": 6 };
    const left = isNarrow() ? right : { "text-halign": "left", "text-margin-x": -6 };
    return [
      { selector: "node", style: { ...label, width: 16, height: 16, "background-color": ground, "border-width": 2, "border-color": line } },
      { selector: "node[side='it']", style: { shape: "round-rectangle", width: 22, height: 22, "background-color": accent, "border-color": accent,
        "text-valign": isNarrow() ? "center" : "top", "font-weight": "bold", ...(isNarrow() ? right : { "text-margin-y": -8, "text-background-color": ground, "text-background-opacity": 1, "text-background-padding": 3 }) } },
      { selector: "node[side='out']", style: { shape: "round-rectangle", ...right } },
      { selector: "node[side='in']", style: { shape: "ellipse", ...left } },
      { selector: "node:selected", style: { "background-color": accent, "border-color": ink, "border-width": 3, "font-weight": "bold" } },
      { selector: "edge", style: { width: 1.5, "line-color": line, "target-arrow-color": line, "target-arrow-shape": "triangle",
        "arrow-scale": 0.9, "curve-style": isNarrow() ? "taxi" : "straight", "taxi-direction": "downward", "taxi-turn": 12, ...edgeLabel } },
      { selector: "edge[side='out']", style: isNarrow() ? { "taxi-direction": "downward" } : { "target-label": "data(name)", "target-text-offset": 52 } },
      { selector: "edge[side='in']", style: isNarrow() ? { "taxi-direction": "leftward" } : { "source-label": "data(name)", "source-text-offset": 52 } },
      { selector: "edge.chosen", style: { width: 3, "line-color": accent, "target-arrow-color": accent } },
    ];
  }

  function choose(cy, number) {
    cy.elements().unselect().removeClass("chosen");
    for (const row of table.tBodies[0].rows) row.classList.remove("chosen");
    const node = cy.getElementById(`n${number}`), row = rows[number];
    node.select();
    cy.getElementById(`e${number}`).addClass("chosen");
    table.tBodies[0].rows[number].classList.add("chosen");
    const sentence = row.direction === "out" ? `${row.property} refers to ${row.name}` : `${row.name} refers to it by ${row.property}`;
    status.textContent = `${sentence}.${row.href ? "" : " This entity has no page of its own."}`;
    if (calm.matches) cy.center(node);
    else cy.animate({ center: { eles: node } }, { duration: 150 });
  }

  function zoom(cy, factor) {
    const middle = { x: box.clientWidth / 2, y: box.clientHeight / 2 };
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: middle });
  }

  function listen(cy) {
    let at = -1;
    const step = (by) => { at = (at + by + rows.length) % rows.length; choose(cy, at); };
    const open = () => { if (at >= 0 && rows[at].href) location.href = rows[at].href; };
    const keys = {
      ArrowDown: () => step(1), ArrowRight: () => step(1), ArrowUp: () => step(at < 0 ? 0 : -1), ArrowLeft: () => step(at < 0 ? 0 : -1),
      Home: () => { at = 0; step(0); }, End: () => { at = rows.length - 1; step(0); }, Enter: open,
      "+": () => zoom(cy, 1.25), "-": () => zoom(cy, 0.8), 0: () => cy.fit(undefined, 24),
    };
    box.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    });
    cy.on("tap", "node", (event) => {
      const number = event.target.data("row");
      if (number === undefined) return;
      if (number === at) open();
      else { at = number; choose(cy, at); }
    });
    table.addEventListener("focusin", (event) => {
      const number = [...table.tBodies[0].rows].indexOf(event.target.closest("tbody tr"));
      if (number >= 0) { at = number; choose(cy, at); }
    });
  }

  function draw() {
    const side = Math.max(rows.filter((row) => row.direction === "in").length, rows.filter((row) => row.direction === "out").length);
    const tall = isNarrow() ? 46 * (rows.length + 1) + 40 : 46 * side + 90;
    box.style.height = `${Math.min(Math.max(tall, 220), 640)}px`;
    const cy = window.cytoscape({
      container: box, elements: elements(), style: style(), layout: { name: "preset" },
      minZoom: 0.3, maxZoom: 2.5, userZoomingEnabled: false, boxSelectionEnabled: false, autoungrabify: false,
    });
    const whole = cy.elements().boundingBox();
    const level = Math.min(1.1, (box.clientWidth - 40) / whole.w);
    box.style.height = `${Math.min(Math.max(whole.h * level + 48, 180), 720)}px`;
    cy.resize();
    cy.fit(undefined, 20);
    if (cy.zoom() > 1.1) { cy.zoom(1.1); cy.center(); }
    listen(cy);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cy.style(style()));
    box.dataset.drawn = String(cy.nodes().length);
    window.drawnGraph = cy;
  }

  function load() {
    const script = document.createElement("script");
    script.src = "/static/vendor/cytoscape.min.js";
    script.addEventListener("load", draw);
    script.addEventListener("error", () => { box.hidden = true; status.textContent = "The graph cannot be shown; the table has the same data."; });
    document.head.append(script);
  }

  box.hidden = false;
  document.getElementById("graph-keys").hidden = false;
  const watch = new IntersectionObserver((seen) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    watch.disconnect();
    load();
  }, { rootMargin: "100px" });
  watch.observe(box);
})();
