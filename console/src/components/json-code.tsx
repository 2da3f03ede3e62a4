import { json, jsonParseLinter } from '@codemirror/lang-json';
import { linter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { minimalSetup } from 'codemirror';
import { useEffect, useEffectEvent, useRef } from 'react';
import { styleNonce } from '../nonce.ts';

const look = EditorView.theme({
  '&': { fontSize: '0.8rem', backgroundColor: 'transparent' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    padding: '8px 0',
    caretColor: 'var(--mantine-color-text)',
  },
  '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)' },
  '.cm-scroller': { minHeight: '7rem', maxHeight: '24rem' },
});

interface JsonCodeProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
  readOnly: boolean;
  invalid: boolean;
}

export default function JsonCode({ label, value, onChange, readOnly, invalid }: JsonCodeProps) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const tell = useEffectEvent(onChange);
  const first = useEffectEvent(() => value);
  useEffect(() => {
    const editor = new EditorView({
      parent: parent.current!,
      state: EditorState.create({
        doc: first(),
        extensions: [
          EditorView.cspNonce.of(styleNonce),
          minimalSetup,
          json(),
          linter(jsonParseLinter()),
          look,
          EditorView.lineWrapping,
          // Tab goes on to the next field.
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorState.readOnly.of(readOnly),
          EditorView.editable.of(!readOnly),
          EditorView.updateListener.of(update => {
            if (update.docChanged) tell(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label, readOnly]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={parent} className="editor" data-invalid={invalid || undefined} />;
}
