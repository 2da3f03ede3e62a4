/** Two texts and what differs between them: side by side, or one after the other where there is little room. */
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { minimalSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import { look } from './look.ts';

interface DiffProps {
  before: string;
  after: string;
  /** What the two are, for readers of the screen. */
  beforeLabel: string;
  afterLabel: string;
  sideBySide: boolean;
}

export default function Diff({ before, after, beforeLabel, afterLabel, sideBySide }: DiffProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = place.current!;
    const extensions = (label: string) => [
      minimalSetup,
      look,
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
  return <div ref={place} />;
}
