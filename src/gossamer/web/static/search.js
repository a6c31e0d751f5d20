// Suggestions while typing in the search box: the editable combobox with list autocomplete of ARIA 1.2.
"use strict";
(() => {
  const box = document.getElementById("q");
  const list = document.getElementById("suggested");
  if (!box || !list) return;
  const status = document.getElementById("suggestions-status");
  let at = -1, timer = 0, request = null, typed = box.value;

  box.setAttribute("role", "combobox");
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-controls", list.id);
  box.setAttribute("aria-expanded", "false");

  const options = () => [...list.children];

  function choose(number) {
    at = number;
    options().forEach((one, index) => one.setAttribute("aria-selected", String(index === at)));
    const chosen = options()[at];
    if (chosen) {
      box.setAttribute("aria-activedescendant", chosen.id);
      box.value = chosen.dataset.text;
      chosen.scrollIntoView({ block: "nearest" });
    } else {
      box.removeAttribute("aria-activedescendant");
      box.value = typed;
    }
  }

  function close() {
    clearTimeout(timer);
    request?.abort();
    list.hidden = true;
    list.replaceChildren();
    at = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  function option(one, number) {
    const item = document.createElement("li");
    item.id = `suggested-${number}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.dataset.text = one.text;
    const text = document.createElement("span"), kind = document.createElement("span");
    text.textContent = one.text;
    text.dir = "auto";
    kind.textContent = one.kind;
    kind.className = "soft small";
    item.append(text, " ", kind);
    item.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the box keeps the focus
      box.value = one.text;
      box.form.requestSubmit();
    });
    return item;
  }

  async function suggest() {
    request?.abort();
    request = new AbortController();
    const text = box.value;
    if (text.trim().length < 2) return close();
    try {
      const answer = await fetch(`/suggest.json?q=${encodeURIComponent(text)}`, { signal: request.signal });
      if (!answer.ok) return close();
      const { suggestions } = await answer.json();
      if (box.value !== text || document.activeElement !== box) return;
      list.replaceChildren(...suggestions.map(option));
      at = -1;
      list.hidden = !suggestions.length;
      box.setAttribute("aria-expanded", String(!list.hidden));
      if (status) status.textContent = suggestions.length ? `${suggestions.length} ${suggestions.length === 1 ? "suggestion" : "suggestions"}, use the arrow keys to choose` : "";
    } catch {
      // replaced by a newer request, or the server is gone: the box works without suggestions
    }
  }

  box.addEventListener("input", () => {
    typed = box.value;
    clearTimeout(timer);
    timer = setTimeout(suggest, 120);
  });
  box.addEventListener("blur", close);
  box.addEventListener("keydown", (event) => {
    const count = options().length;
    if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      box.value = typed;
      close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!count) return event.key === "ArrowDown" ? suggest() : undefined;
      event.preventDefault();
      const down = event.key === "ArrowDown";
      choose(down ? (at + 1 >= count ? -1 : at + 1) : at < 0 ? count - 1 : at - 1);
    } else if (event.key === "Enter") {
      close();
    }
  });
})();

// While new results load, the old ones are dimmed and marked busy for screen readers.
document.addEventListener("htmx:beforeRequest", () => document.getElementById("found")?.setAttribute("aria-busy", "true"));
document.addEventListener("htmx:afterRequest", () => document.getElementById("found")?.removeAttribute("aria-busy"));
document.addEventListener("htmx:sendError", () => {
  const count = document.getElementById("result-count");
  if (count) count.textContent = "The server is not responding. Is it still running?";
});
