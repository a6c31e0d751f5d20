// The crawl pages, live: the part with data-every is fetched again while the page is visible. They work without.
"use strict";
{
  const stale = document.getElementById("stale");
  const liveness = document.getElementById("liveness");
  let isFetching = false;

  const setText = (spot, text) => { if (spot && spot.textContent !== text) spot.textContent = text; };

  // Do not replace what someone is reading or about to click.
  function isBusy(live) {
    const chosen = document.getSelection();
    return document.hidden || live.contains(document.activeElement) || Boolean(document.querySelector("dialog[open]"))
      || (live.dataset.top && live.getBoundingClientRect().top < -80)
      || Boolean(chosen && !chosen.isCollapsed && live.contains(chosen.anchorNode));
  }

  // The URL without the notice, which is shown once.
  function address() {
    const here = new URL(location.href);
    here.searchParams.delete("said");
    return here;
  }

  function replace(live, fresh) {
    const known = new Set([...live.querySelectorAll("[data-position]")].map((row) => row.dataset.position));
    for (const open of live.querySelectorAll("details[open][id]")) fresh.querySelector(`#${open.id}`)?.setAttribute("open", "");
    const scrolled = [...live.querySelectorAll(".scroll")].map((spot) => spot.scrollLeft);
    if (live.innerHTML === fresh.innerHTML) return;
    live.replaceWith(fresh);
    [...fresh.querySelectorAll(".scroll")].forEach((spot, place) => { spot.scrollLeft = scrolled[place] ?? 0; });
    if (known.size) for (const row of fresh.querySelectorAll("[data-position]")) if (!known.has(row.dataset.position)) row.classList.add("new");
  }

  async function refresh() {
    const live = document.getElementById("live");
    if (!live || isFetching) return;
    if (isBusy(live)) return setText(liveness, "Paused while you read");
    isFetching = true;
    try {
      const answer = await fetch(address(), { headers: { accept: "text/html" }, signal: AbortSignal.timeout(10000) });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("live");
      if (fresh && !isBusy(live)) {
        replace(live, document.adoptNode(fresh));
        if (document.title !== page.title) document.title = page.title;
      }
      if (stale) stale.hidden = true;
      document.body.classList.remove("is-stale");
      setText(liveness, "Live");
    } catch {
      if (stale) stale.hidden = false;
      document.body.classList.add("is-stale");
      setText(liveness, "");
    } finally {
      isFetching = false;
    }
  }

  const every = Number(document.getElementById("live")?.dataset.every ?? 0);
  if (every) {
    setText(liveness, "Live");
    setInterval(refresh, every * 1000);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  }

  // Ask before leaving the page with unsaved rules.
  const draft = document.getElementById("draft");
  if (draft) {
    let isSent = false;
    draft.form.addEventListener("submit", () => { isSent = true; });
    window.addEventListener("beforeunload", (event) => { if (!isSent && draft.value !== draft.defaultValue) event.preventDefault(); });
  }
}
