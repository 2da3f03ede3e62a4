/** Compares two texts: side by side, or inline if there is little space. */
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { minimalSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import { editorTheme } from './theme.ts';

interface DiffProps {
  before: string;
  after: string;
  /** Accessible names of the two texts. */
  beforeLabel: string;
  afterLabel: string;
  sideBySide: boolean;
}

export default function Diff({ before, after, beforeLabel, afterLabel, sideBySide }: DiffProps) {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = container.current!;
    const extensions = (label: string) => [
      minimalSetup,
      editorTheme,
      EditorView.lineWrapping,
      EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({ 'aria-label': label, 'aria-readonly': 'true', tabindex: '0' }),
    ];
    const collapseUnchanged = { margin: 3, minSize: 6 };
    const view = sideBySide
      ? new MergeView({
          parent,
          a: { doc: before, extensions: extensions(beforeLabel) },
          b: { doc: after, extensions: extensions(afterLabel) },
          collapseUnchanged,
        })
      : new EditorView({
          parent,
          doc: after,
          extensions: [
            extensions(`${afterLabel}, compared with ${beforeLabel}`),
            unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged }),
          ],
        });
    return () => view.destroy();
  }, [before, after, beforeLabel, afterLabel, sideBySide]);
  return <div ref={container} />;
}
