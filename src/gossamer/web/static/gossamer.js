// Small comforts; every page works without them.
"use strict";
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const hits = [...document.querySelectorAll("ol.hits h2 a")];
  const at = hits.indexOf(document.activeElement);
  if (event.key === "/") {
    const box = document.querySelector("input[type=search]");
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  } else if (event.key === "j" && hits.length) {
    hits[Math.min(at + 1, hits.length - 1)].focus();
  } else if (event.key === "k" && hits.length) {
    hits[Math.max(at - 1, 0)].focus();
  }
});
// The crawl may still be running: numbers marked live are fetched again while the page is in view.
const live = document.querySelector("[data-live]");
if (live) {
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch("/status.json", { headers: { accept: "application/json" } });
      const numbers = (await answer.json()).numbers;
      for (const spot of document.querySelectorAll("[data-number]")) {
        const value = numbers[spot.dataset.number];
        if (value !== undefined) spot.textContent = Number(value).toLocaleString("en");
      }
    } catch { live.dataset.live = "stale"; }
  }, 2000);
}
