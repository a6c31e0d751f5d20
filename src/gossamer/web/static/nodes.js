// Machines and processes, live: texts arrive once a second, and the plots grow with them. The page works without.
"use strict";
{
  const stale = document.getElementById("stale");
  const since = document.getElementById("stale-since");
  const liveness = document.getElementById("liveness");
  const PATIENCE_MS = 5000;
  let updatedAt = Date.now();
  let source = null;
  let retries = 0;
  let isFetching = false;

  const setText = (spot, text) => { if (spot.textContent !== text) spot.textContent = text; };

  function show(event) {
    const latest = JSON.parse(event.data);
    updatedAt = Date.now();
    retries = 0;
    setStale(false);
    const live = document.getElementById("live");
    if (live.dataset.shape !== latest.shape) return replaceRows();
    for (const spot of document.querySelectorAll("[data-cell]")) {
      const text = latest.cells[spot.dataset.cell];
      if (text !== undefined) setText(spot, text);
    }
    for (const spot of live.querySelectorAll("[data-badge]")) {
      const badge = latest.badges[spot.dataset.badge];
      if (badge) spot.className = `badge ${badge}`;
    }
    plots.grow(Date.parse(latest.at) / 1000, latest.points);
  }

  // A process started or ended: fetch the page again and take its rows.
  async function replaceRows() {
    if (isFetching) return;
    isFetching = true;
    try {
      const answer = await fetch("/nodes", { headers: { accept: "text/html" } });
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
      const live = document.getElementById("live");
      if (fresh && live.contains(document.activeElement) === false) live.replaceWith(document.adoptNode(fresh));
    } catch {
      // the stream reports when the server is back
    } finally {
      isFetching = false;
    }
  }

  function setStale(is) {
    if (is && stale.hidden) since.textContent = new Date(updatedAt).toISOString().slice(11, 19) + " UTC";
    if (stale.hidden === is) stale.hidden = !is;
    document.body.classList.toggle("is-stale", is);
    setText(liveness, is ? "As of" : "Live,");
  }

  // Browsers stop retrying a stream when the server responds with an error; we do not.
  function listen() {
    source?.close();
    source = new EventSource("/nodes/live");
    source.onmessage = show;
    source.onerror = () => {
      setStale(true);
      if (source?.readyState !== EventSource.CLOSED) return;
      source = null;
      retries = Math.min(retries + 1, 5);
      setTimeout(() => { if (!source && !document.hidden) listen(); }, 1000 * 2 ** (retries - 1));
    };
  }

  // Browsers open few connections to one server, so a hidden page closes its own.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      listen();
    }
  });
  window.addEventListener("pagehide", () => { source?.close(); source = null; });
  window.addEventListener("pageshow", () => { if (!source && !document.hidden) listen(); });
  setInterval(() => { if (!document.hidden && Date.now() - updatedAt > PATIENCE_MS) setStale(true); }, 1000);

  const SHORT = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const inShort = (value) => {
    if (value == null) return "";
    const [unit, letter] = SHORT.find(([size]) => Math.abs(value) >= size) ?? [1, ""];
    const number = value / unit;
    return number.toLocaleString("en", { maximumFractionDigits: Math.abs(number) < 10 ? 1 : 0 }) + letter;
  };

  const plots = {
    drawn: [],
    at: [],
    series: {},
    stepS: 1,
    minutes: 60,

    async open() {
      const spots = [...document.querySelectorAll(".plot")];
      if (!spots.length || typeof uPlot === "undefined") return;
      this.minutes = Number(document.querySelector(".plots").dataset.minutes);
      const answer = await fetch(`/nodes/history.json?minutes=${this.minutes}`);
      if (!answer.ok) return;
      const history = await answer.json();
      this.stepS = history.step_s;
      this.at = history.at.map((at) => Date.parse(at) / 1000);
      this.series = history.series;
      document.querySelector(".plots").hidden = false;
      this.draw();
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
      new ResizeObserver(() => {
        for (const { plot, spot } of this.drawn) plot.setSize({ width: spot.clientWidth, height: spot.clientHeight });
      }).observe(document.querySelector(".plots"));
    },

    // The colours of the page in the current theme.
    colours() {
      const probe = document.body.appendChild(document.createElement("span"));
      probe.hidden = true;
      const found = {};
      for (const name of ["accent", "calm", "soft", "line"]) {
        probe.style.color = `var(--${name})`;
        found[name] = getComputedStyle(probe).color;
      }
      probe.remove();
      return found;
    },

    draw() {
      for (const { plot } of this.drawn) plot.destroy();
      const { accent, calm, soft, line } = this.colours();
      this.drawn = [...document.querySelectorAll(".plot")].map((spot) => {
        const names = spot.dataset.series.split(" ");
        const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui, sans-serif" };
        const plot = new uPlot({
          width: spot.clientWidth,
          height: spot.clientHeight,
          legend: { show: false },
          cursor: { sync: { key: "nodes" }, y: false, points: { size: 6 } },
          scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
          axes: [
            { ...axis, space: 70, values: (_, ticks) => ticks.map((at) => new Date(at * 1000).toISOString().slice(11, 16)) },
            { ...axis, size: 44, values: (_, ticks) => ticks.map(inShort) },
          ],
          series: [{}, ...names.map((name, place) => ({
            stroke: place ? calm : accent, width: 1.5, dash: place ? [4, 3] : undefined, spanGaps: false, points: { show: false },
            fill: place || names.length > 1 ? undefined : accent.replace("rgb(", "rgba(").replace(")", ", .12)"),
          }))],
          hooks: { setCursor: [(self) => this.tell(spot, names, self.cursor.idx)] },
        }, this.columns(names), spot);
        this.tell(spot, names, null);
        return { plot, spot, names };
      });
    },

    columns(names) {
      return [this.at, ...names.map((name) => this.series[name])];
    },

    tell(spot, names, place) {
      const at = place ?? this.at.length - 1;
      const texts = names.map((name) => inShort(this.series[name]?.[at] ?? null)).filter(Boolean);
      const when = place == null ? "now" : new Date(this.at[at] * 1000).toISOString().slice(11, 19);
      setText(spot.closest("figure").querySelector("[data-now]"), texts.length ? `${when}: ${texts.join(", ")}` : "");
    },

    grow(at, points) {
      if (!this.drawn.length) return;
      const last = this.at[this.at.length - 1] ?? 0;
      const isNew = at - last >= this.stepS;
      if (isNew) this.at.push(Math.floor(at / this.stepS) * this.stepS);
      for (const [name, column] of Object.entries(this.series)) {
        const value = points[name] ?? null;
        if (isNew) column.push(value);
        else if (value !== null) column[column.length - 1] = value;
      }
      if (isNew && this.at.length > this.minutes * 60 / this.stepS + 1) {
        this.at.shift();
        for (const column of Object.values(this.series)) column.shift();
      }
      for (const { plot, spot, names } of this.drawn) {
        plot.setData(this.columns(names));
        if (plot.cursor.idx == null) this.tell(spot, names, null);
      }
    },
  };

  // The plots load when they are close to the visible part.
  function openPlots() {
    const script = document.createElement("script");
    script.src = "/static/vendor/uPlot.iife.min.js";
    script.onload = () => plots.open().catch(() => {});
    document.head.append(script);
  }
  const history = document.getElementById("history");
  const watching = new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting)) { watching.disconnect(); openPlots(); }
  }, { rootMargin: "300px" });
  if (history) watching.observe(history);
  if (!document.hidden) listen();
}
