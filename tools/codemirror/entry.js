// What the SPARQL console uses of CodeMirror; `npm install && npm run build` here makes static/vendor/codemirror.js.
export { EditorState, Compartment, Prec, StateEffect, StateField } from "@codemirror/state";
export {
  EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, highlightSpecialChars, placeholder,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting, syntaxTree } from "@codemirror/language";
export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, startCompletion } from "@codemirror/autocomplete";
export { lintGutter, setDiagnostics } from "@codemirror/lint";
export { tags } from "@lezer/highlight";
export { sparql } from "codemirror-lang-sparql";
