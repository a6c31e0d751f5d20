// The editor of the SPARQL console: CodeMirror in a shadow root. There its style is a style sheet object, which our policy allows;
// in the page itself it would be a <style> element, which the policy forbids.
const KEYWORDS = ("ASK BASE BIND BOUND BY CONCAT CONSTRUCT CONTAINS COUNT DATATYPE DESC DESCRIBE DISTINCT EXISTS FILTER FROM GRAPH GROUP " +
  "GROUP_CONCAT HAVING IF IN IRI isBlank isIRI isLiteral LANG LANGMATCHES LCASE LIMIT MAX MIN MINUS NAMED NOT NOW OFFSET OPTIONAL ORDER " +
  "PREFIX REGEX REPLACE SAMPLE SELECT SEPARATOR STR STRAFTER STRBEFORE STRENDS STRLEN STRSTARTS SUBSTR SUM UCASE UNDEF UNION VALUES WHERE YEAR").split(" ");
const FUNCTIONS = [
  ["<urn:gossamer:is-a>", "is-a(?type, class): the class or a subclass"],
  ["<urn:gossamer:specialises>", "specialises(?property, property): the property or a subproperty"],
  ["<urn:gossamer:syntax>", "syntax(?page, ?s, ?p, ?o): the syntax the page uses"],
  ["<urn:gossamer:path>", "path(?page, ?s, ?p, ?o): the element that states it"],
];
const PARTIAL = /(?:[A-Za-z][\w-]*)?:[\w-]*$|<[^>\s]*$|[?$]\w*$|[A-Za-z][\w-]*$/;
const AFTER_A = /(?:\sa|rdf:type|#type>)\s+$/;
const AFTER_SUBJECT = /(?:^|[{.;]\s*)(?:[?$]\w+|<[^>]*>|[\w-]*:[\w-]+)\s+$|;\s*$/;

const json = async (address) => {
  const answer = await fetch(address, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
};
const declared = (text, prefix) => new RegExp(`^\\s*PREFIX\\s+${prefix}:`, "im").test(text);

function kindBefore(before) {
  if (AFTER_A.test(before)) return "class";
  return AFTER_SUBJECT.test(before) ? "property" : "";
}

async function completions(context) {
  const partial = context.matchBefore(PARTIAL);
  if (!partial && !context.explicit) return null;
  const text = partial?.text ?? "", from = partial?.from ?? context.pos;
  const whole = context.state.doc.toString();
  if (/^[?$]/.test(text)) {
    const names = new Set([...whole.matchAll(/[?$]\w+/g)].map(([name]) => "?" + name.slice(1)));
    names.delete("?" + text.slice(1));
    return { from, options: [...names].map((label) => ({ label, type: "variable" })), validFor: /^[?$]\w*$/ };
  }
  const line = context.state.doc.lineAt(context.pos).text;
  if (/^\s*(PREFIX|#)/i.test(line)) return null;
  const kind = kindBefore(context.state.sliceDoc(Math.max(0, from - 400), from).replace(/\s+/g, " "));
  const address = `/sparql/terms.json?${new URLSearchParams({ prefix: text.replace(/^</, ""), ...(kind && { kind }) })}`;
  const { terms } = await json(address).catch(() => ({ terms: [] }));
  const options = terms.map((term, number) => ({
    label: term.short, detail: term.times ? `${term.label}, ${term.times.toLocaleString("en")} times` : term.label,
    type: term.kind === "class" ? "class" : "property", boost: 99 - number * 2,
    apply: (view, _, start, end) => insert(view, term, start, end),
  }));
  if (!kind && !text.includes(":")) {
    options.push(...KEYWORDS.map((label) => ({ label, type: "keyword", boost: -1 })));
    if (text) options.push(...FUNCTIONS.map(([label, detail]) => ({ label, detail, type: "function", boost: -50 })));
  }
  return { from, options, filter: !text.startsWith("<") && text !== "" };
}
// Inserting a name declares its prefix.
function insert(view, term, from, to) {
  const changes = [{ from, to, insert: term.short }];
  if (term.prefix && !declared(view.state.doc.toString(), term.prefix)) changes.unshift({ from: 0, insert: `PREFIX ${term.prefix}: <${term.namespace}>\n` });
  const added = changes.length > 1 ? changes[0].insert.length : 0;
  view.dispatch({ changes, selection: { anchor: from + added + term.short.length }, userEvent: "input.complete" });
}
function declarePrefix(prefixes) {
  return (update) => {
    if (!update.docChanged || !update.transactions.some((one) => one.isUserEvent("input.type"))) return;
    const at = update.state.selection.main.head, before = update.state.doc.lineAt(at).text.slice(0, at - update.state.doc.lineAt(at).from);
    const found = /(?:^|[\s({;,|/^!])([A-Za-z][\w-]*):$/.exec(before), namespace = found && prefixes[found[1]];
    if (!namespace || /^\s*(PREFIX|#)/i.test(before) || declared(update.state.doc.toString(), found[1])) return;
    const view = update.view, line = `PREFIX ${found[1]}: <${namespace}>\n`;
    queueMicrotask(() => view.dispatch({ changes: { from: 0, insert: line } }));
  };
}

function style({ EditorView, HighlightStyle, tags }) {
  const theme = EditorView.theme({
    "&": { color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: ".92rem" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", maxHeight: "60vh", overflow: "auto" },
    ".cm-content, .cm-gutter": { minHeight: "12rem" },
    ".cm-content": { caretColor: "var(--ink)", padding: ".6rem 0" },
    ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
    ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
    ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--card) 70%, transparent)" },
    ".cm-activeLineGutter": { backgroundColor: "var(--card)", color: "var(--ink)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--mark) !important" },
    "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--mark)", color: "inherit", outline: "1px solid var(--edge)" },
    ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--edge)", borderRadius: "var(--round)" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "none", overflow: "hidden" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: ".2rem .6rem" },
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent) !important", color: "var(--paper) !important" },
    ".cm-completionDetail": { fontStyle: "normal", color: "inherit", marginLeft: "1rem", fontFamily: "system-ui, sans-serif", fontSize: ".85em" },
    ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
    ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)" },
    ".cm-diagnostic-error": { borderLeftColor: "var(--bad)", padding: ".4rem .7rem", fontFamily: "system-ui, sans-serif" },
  });
  const colours = HighlightStyle.define([
    { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" }, { tag: tags.operatorKeyword, color: "var(--accent)" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--warn)" }, { tag: [tags.number, tags.bool], color: "var(--warn)" },
    { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" }, { tag: [tags.variableName, tags.name], color: "var(--ink)" },
    { tag: [tags.url, tags.link, tags.namespace, tags.typeName, tags.propertyName], color: "var(--calm)" },
  ]);
  return { theme, colours };
}

// Typing over a selection makes Chromium write style attributes, which our policy forbids, so this inserts the text itself.
const typeOver = ({ EditorView, Prec }) => Prec.highest(EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to } = view.state.selection.main;
    if (event.inputType !== "insertText" || !event.data || from === to || view.composing) return false;
    event.preventDefault();
    const put = () => view.state.update({ ...view.state.replaceSelection(event.data), userEvent: "input.type", scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((take) => take(view, from, to, event.data, put))) view.dispatch(put());
    return true;
  },
}));

export async function edit(box, area, submit) {
  const cm = await import("/static/vendor/codemirror.js");
  const prefixes = await json("/sparql/prefixes.json").catch(() => ({}));
  const { theme, colours } = style(cm);
  const root = box.attachShadow({ mode: "open" });
  const keys = cm.Prec.highest(cm.keymap.of([{ key: "Mod-Enter", run: () => { submit(); return true; } }]));
  const label = { "aria-label": "SPARQL query; Control+Enter runs it", spellcheck: "false", autocapitalize: "off" };
  const view = new cm.EditorView({
    root, parent: root,
    state: cm.EditorState.create({
      doc: area.value,
      extensions: [
        keys, typeOver(cm), cm.lineNumbers(), cm.history(), cm.drawSelection(), cm.highlightActiveLine(), cm.highlightSpecialChars(), cm.bracketMatching(),
        cm.closeBrackets(), cm.autocompletion({ override: [completions], maxRenderedOptions: 12, icons: false }), cm.sparql(),
        cm.syntaxHighlighting(colours), theme, cm.EditorView.lineWrapping, cm.EditorView.contentAttributes.of(label),
        cm.keymap.of([...cm.closeBracketsKeymap, ...cm.completionKeymap, ...cm.historyKeymap, ...cm.defaultKeymap]),
        cm.EditorView.updateListener.of((update) => { if (update.docChanged) area.value = update.state.doc.toString(); }),
        cm.EditorView.updateListener.of(declarePrefix(prefixes)),
      ],
    }),
  });
  // The shortcuts of the page (`/`, `j`) are letters here.
  box.addEventListener("keydown", (event) => event.stopPropagation());
  document.getElementById("query-label").addEventListener("click", (event) => { event.preventDefault(); view.focus(); });
  box.hidden = false;
  area.hidden = true;
  return {
    view,
    text: () => view.state.doc.toString(),
    put: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    focus: () => view.focus(),
    mark(mistake) {
      box.classList.toggle("wrong", Boolean(mistake));
      if (!mistake || mistake.line > view.state.doc.lines) { view.dispatch(cm.setDiagnostics(view.state, [])); return; }
      const line = view.state.doc.line(mistake.line), at = Math.min(line.from + mistake.column - 1, line.to);
      const word = /[\w:<>?$-]+\s*$/.exec(view.state.sliceDoc(line.from, at));
      const from = word ? line.from + word.index : at, to = Math.max(at, Math.min(from + 1, line.to));
      view.dispatch(cm.setDiagnostics(view.state, [{ from, to, severity: "error", message: mistake.words }]));
      view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
    },
  };
}
