// Keyboard shortcuts and live numbers; every page works without them.
"use strict";
const isTyping = (at) => /^(INPUT|TEXTAREA|SELECT)$/.test(at?.tagName ?? "") || Boolean(at?.isContentEditable);
const results = () => [...document.querySelectorAll("ol.hits h2 a, [data-step]")];
const keys = document.getElementById("keys");
let goPressedAt = -Infinity; // when `g` was pressed

function toSearch() {
  const box = document.getElementById("q") ?? document.querySelector("input[type=search]");
  if (box) { box.focus(); box.select(); } else location.assign("/");
}

function step(by) {
  const all = results(), at = all.indexOf(document.activeElement);
  all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
}

function go(letter) {
  const link = document.querySelector(`header.top [data-go="${letter}"]`);
  if (link) location.assign(link.href);
  return Boolean(link);
}

const KEYS = {
  "/": toSearch,
  j: () => step(1),
  k: () => step(-1),
  o: () => document.activeElement?.closest("li, tr")?.querySelector("a[href]")?.click(),
  "?": () => keys?.showModal(),
};

document.addEventListener("keydown", (event) => {
  const at = document.activeElement;
  if (at?.tagName === "TEXTAREA" && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    at.form?.requestSubmit();
    return;
  }
  if (isTyping(at)) {
    if (event.key === "Escape" && !event.defaultPrevented) at.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const follows = event.timeStamp - goPressedAt < 1500;
  goPressedAt = event.key === "g" && !follows ? event.timeStamp : -Infinity;
  if (follows && /^[a-z]$/.test(event.key) && go(event.key)) return event.preventDefault();
  if (Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
});
for (const button of document.querySelectorAll("[data-opens]")) {
  button.hidden = false;
  button.addEventListener("click", () => document.getElementById(button.dataset.opens)?.showModal());
}

for (const link of document.querySelectorAll("a[target=copy]")) {
  link.addEventListener("click", () => document.querySelector("iframe[name=copy]")?.scrollIntoView({ block: "nearest" }));
}

// The crawl may be running: numbers marked live are updated while the page is visible.
async function refresh(live) {
  const answer = await fetch("/status.json", { headers: { accept: "application/json" } });
  const { numbers, state } = await answer.json();
  for (const spot of document.querySelectorAll("[data-number]")) {
    const value = numbers[spot.dataset.number];
    if (value !== undefined) spot.textContent = Number(value).toLocaleString("en");
  }
  for (const spot of document.querySelectorAll("[data-state]")) spot.textContent = state.replaceAll("-", " ");
  live.dataset.live = "yes";
}
if (document.querySelector("[data-live]")) {
  setInterval(async () => {
    const live = document.querySelector("[data-live]");
    if (document.hidden || !live) return;
    const stale = document.getElementById("stale");
    try {
      await refresh(live);
      if (stale) stale.hidden = true;
    } catch {
      if (stale) stale.hidden = false;
    }
  }, 2000);
}
