// Small comforts; every page works without them.
"use strict";
document.addEventListener("keydown", (event) => {
  const at = document.activeElement;
  if (at?.tagName === "TEXTAREA" && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    at.form.requestSubmit();
    return;
  }
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(at?.tagName ?? "");
  if (typing && event.key === "Escape") at.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const hits = [...document.querySelectorAll("ol.hits h2 a")];
  if (event.key === "/") {
    const box = document.querySelector("input[type=search]");
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  } else if (event.key === "j" && hits.length) {
    hits[Math.min(hits.indexOf(at) + 1, hits.length - 1)].focus();
  } else if (event.key === "k" && hits.length) {
    hits[Math.max(hits.indexOf(at) - 1, 0)].focus();
  }
});
// The crawl may still be running: numbers marked live are fetched again while the page is in view.
async function refresh(live) {
  const answer = await fetch("/status.json", { headers: { accept: "application/json" } });
  const { numbers, state } = await answer.json();
  for (const spot of document.querySelectorAll("[data-number]")) {
    const value = numbers[spot.dataset.number];
    if (value !== undefined) spot.textContent = Number(value).toLocaleString("en");
  }
  for (const spot of document.querySelectorAll("[data-state]")) spot.textContent = state;
  live.dataset.live = "yes";
}
const live = document.querySelector("[data-live]");
if (live) {
  setInterval(async () => {
    if (document.hidden) return;
    const stale = document.getElementById("stale");
    try {
      await refresh(live);
      if (stale) stale.hidden = true;
    } catch {
      if (stale) stale.hidden = false;
    }
  }, 2000);
}
