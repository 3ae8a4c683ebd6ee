// The SQL editor: CodeMirror in a shadow root. There it uses constructed style sheets, because the content security
// policy forbids style elements.
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import {
  MSSQL,
  MariaSQL,
  MySQL,
  PostgreSQL,
  SQLDialect,
  SQLite,
  StandardSQL,
  sql,
  type SQLNamespace,
} from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  drawSelection,
  highlightActiveLine,
  keymap,
  lineNumbers,
  type DecorationSet,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Schema } from "../../api/client";

export interface Editor {
  text(): string;
  setText(text: string): void;
  /** Underlines a range as wrong. undefined removes the underline. */
  point(at: { from: number; to: number } | undefined): void;
  complete(schema: Schema): void;
  focus(): void;
  destroy(): void;
}

// By the name that the server sends.
const dialects: Record<string, SQLDialect> = { MSSQL, MariaSQL, MySQL, PostgreSQL, SQLite };

const setPoint = StateEffect.define<{ from: number; to: number } | undefined>();

const pointed = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(now, tr) {
    for (const e of tr.effects) {
      if (!e.is(setPoint)) continue;
      const end = Math.min(e.value?.to ?? 0, tr.state.doc.length);
      return e.value && e.value.from < end
        ? Decoration.set([Decoration.mark({ class: "cm-wrong" }).range(e.value.from, end)])
        : Decoration.none;
    }
    return tr.docChanged ? Decoration.none : now;
  },
  provide: (f) => EditorView.decorations.from(f),
});

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--color-ink)", backgroundColor: "transparent", fontSize: "var(--text-sm)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { padding: "0.75rem 0", caretColor: "var(--color-ink)" },
  ".cm-line": { padding: "0 0.75rem 0 0.5rem" },
  ".cm-gutters": {
    backgroundColor: "transparent",
    border: "none",
    color: "var(--color-ink-quiet)",
    paddingLeft: "0.25rem",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--color-hover)" },
  ".cm-cursor": { borderLeftColor: "var(--color-ink)" },
  ".cm-selectionBackground, &.cm-focused .cm-scroller .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--color-accent-soft)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--color-mark)" },
  ".cm-wrong": {
    textDecoration: "underline wavy var(--color-bad)",
    textUnderlineOffset: "0.25em",
    backgroundColor: "var(--color-bad-soft)",
  },
  ".cm-tooltip": {
    border: "var(--hairline) solid var(--color-line)",
    borderRadius: "var(--radius-md)",
    backgroundColor: "var(--color-raised)",
    color: "var(--color-ink)",
    overflow: "hidden",
    boxShadow: "var(--shadow-over)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    fontFamily: "var(--font-mono)",
    fontSize: "var(--text-xs)",
    maxHeight: "14rem",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.2rem 0.6rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--color-accent-soft)",
    color: "var(--color-ink)",
  },
  ".cm-completionDetail": { color: "var(--color-ink-quiet)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600", color: "var(--color-accent)" },
  ".cm-completionIcon": { display: "none" },
});

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--color-accent)", fontWeight: "600" },
  { tag: tags.string, color: "var(--color-good)" },
  { tag: tags.special(tags.string), color: "var(--color-ink)" }, // a quoted name
  { tag: [tags.number, tags.bool, tags.null], color: "var(--color-warn)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--color-ink-quiet)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--color-accent-strong)" },
]);

// When text is typed over a selection, Chromium adds an inline style to keep its look, which the content security
// policy forbids. So the editor inserts the text itself.
const overSelection = EditorView.domEventHandlers({
  beforeinput(e, view) {
    if (
      e.inputType !== "insertText" ||
      !e.data ||
      e.isComposing ||
      view.state.selection.main.empty ||
      /^[([{'"`]$/.test(e.data)
    )
      return false;
    e.preventDefault();
    view.dispatch({ ...view.state.replaceSelection(e.data), userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

function language(schema?: Schema) {
  const names: SQLNamespace = {};
  for (const t of schema?.tables ?? []) {
    names[t.name] = t.columns.map((c) => ({ label: c.name, type: "property", detail: c.type.toLowerCase() }));
  }
  return sql({ dialect: dialects[schema?.editor_dialect ?? ""] ?? StandardSQL, schema: names });
}

export function editor(parent: HTMLElement, text: string, on: { change: () => void; run: () => void }): Editor {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const place = document.createElement("div");
  place.style.height = "100%";
  root.replaceChildren(place);
  const lang = new Compartment();
  const view = new EditorView({
    root,
    parent: place,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ icons: false }),
        indentUnit.of("  "),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({
          "aria-label": "SQL",
          spellcheck: "false",
          autocapitalize: "off",
          autocorrect: "off",
        }),
        lang.of(language()),
        syntaxHighlighting(colors),
        look,
        pointed,
        overSelection,
        Prec.highest(
          keymap.of([
            { key: "Mod-Enter", run: () => (on.run(), true) },
            { key: "Tab", run: acceptCompletion },
          ]),
        ),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.updateListener.of((u) => u.docChanged && on.change()),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText(next) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    point(at) {
      view.dispatch({
        effects: [
          setPoint.of(at),
          ...(at ? [EditorView.scrollIntoView(Math.min(at.from, view.state.doc.length))] : []),
        ],
      });
    },
    complete(schema) {
      view.dispatch({ effects: lang.reconfigure(language(schema)) });
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
