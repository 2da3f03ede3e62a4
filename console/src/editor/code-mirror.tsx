/** CodeMirror as a controlled React input. Tab leaves it, as in any other field. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { liquid } from '@codemirror/lang-liquid';
import { bracketMatching } from '@codemirror/language';
import { type Diagnostic, linter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, type Extension, type Text } from '@codemirror/state';
import { EditorView, keymap, lineNumbers, placeholder as placeholderOf } from '@codemirror/view';
import { minimalSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import type { CodeProps, SourceError } from './code-types.ts';
import { completeFrom, type Scope } from './completions.ts';
import { editorTheme } from './theme.ts';

interface Props extends CodeProps {
  sourceErrors: readonly SourceError[];
  describedBy: string | undefined;
  invalid: boolean;
}

const noScope: Scope = {};

export default function CodeMirror(props: Props) {
  const { value, sourceErrors, label, describedBy, invalid, readOnly = false, placeholder = '' } = props;
  const { minHeight, maxHeight } = props;
  const container = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef(props);
  latest.current = props;
  const changing = useRef(new Compartment());

  useEffect(() => {
    const { value: doc, language, singleLine = false, lineNumbers: numbered = false } = latest.current;
    const editor = new EditorView({
      parent: container.current!,
      doc,
      extensions: [
        minimalSetup,
        editorTheme,
        bracketMatching(),
        closeBrackets(),
        languageOf(language, () => latest.current.scope ?? noScope),
        keymap.of([...closeBracketsKeymap, ...completionKeymap]),
        singleLine ? oneLine : EditorView.lineWrapping,
        numbered ? lineNumbers() : [],
        changing.current.of([]),
        EditorView.updateListener.of(update => {
          if (update.docChanged) latest.current.onChange?.(update.state.doc.toString());
        }),
      ],
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    const attributes = {
      'aria-label': label,
      ...(describedBy && { 'aria-describedby': describedBy }),
      ...(invalid && { 'aria-invalid': 'true' }),
      ...(readOnly && { 'aria-readonly': 'true' }),
      tabindex: '0',
      spellcheck: 'false',
      autocorrect: 'off',
      autocapitalize: 'off',
    };
    view.current?.dispatch({
      effects: changing.current.reconfigure([
        EditorView.contentAttributes.of(attributes),
        EditorView.editorAttributes.of({ class: invalid ? 'invalid' : '' }),
        EditorState.readOnly.of(readOnly),
        placeholder ? placeholderOf(placeholder) : [],
        EditorView.theme({
          ...(minHeight && { '.cm-content, .cm-gutter': { minHeight: `${minHeight}px` } }),
          ...(maxHeight && { '&': { maxHeight: typeof maxHeight === 'number' ? `${maxHeight}px` : maxHeight } }),
          '.cm-scroller': { overflow: 'auto' },
        }),
      ]),
    });
  }, [label, describedBy, invalid, readOnly, placeholder, minHeight, maxHeight]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    if (latest.current.language === 'json') return;
    const found = sourceErrors.flatMap(error => toDiagnostic(editor.state.doc, error));
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [sourceErrors]);

  return <div ref={container} />;
}

function languageOf(language: CodeProps['language'], scope: () => Scope): Extension {
  if (language === 'json') return [json(), linter(view => (isBlank(view) ? [] : parseJson(view)))];
  if (language === 'text') return [];
  return [liquid(), autocompletion({ override: [completeFrom(scope)], icons: false })];
}

const parseJson = jsonParseLinter();

/** An empty document is not an error. */
function isBlank(view: EditorView): boolean {
  return view.state.doc.length < 10 && view.state.doc.toString().trim() === '';
}

/** Joins pasted lines into one and leaves Enter to the form. */
const oneLine: Extension = EditorState.transactionFilter.of(transaction =>
  transaction.newDoc.lines === 1
    ? transaction
    : [
        {
          changes: {
            from: 0,
            to: transaction.startState.doc.length,
            insert: transaction.newDoc.toString().replaceAll(/\s*\n\s*/g, ' '),
          },
          selection: { anchor: Math.min(transaction.newSelection.main.head, transaction.newDoc.length) },
        },
      ],
);

/** Marks the `{{ … }}` or tag that starts at the position, otherwise the rest of the line. */
function toDiagnostic(doc: Text, { line, column, message }: SourceError): Diagnostic[] {
  if (line === null || line > doc.lines) return [];
  const { from, to, text } = doc.line(line);
  const start = Math.min(from + Math.max(0, (column ?? 1) - 1), to);
  const end = /^(?:\{\{.*?\}\}|\{%.*?%\})/.exec(text.slice(start - from))?.[0].length;
  return [{ from: start, to: end ? start + end : to, severity: 'error', message }];
}
