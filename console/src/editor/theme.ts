/** Theme of the code editor. It uses the console's CSS variables, so light and dark need no separate themes. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { styleNonce } from '../nonce.ts';

const baseTheme = EditorView.theme({
  '&': {
    color: 'var(--mantine-color-text)',
    backgroundColor: 'var(--card)',
    border: '1px solid var(--mantine-color-default-border)',
    borderRadius: 'var(--mantine-radius-md)',
    fontSize: '0.8125rem',
    overflow: 'hidden',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '&.invalid': { borderColor: 'var(--mantine-color-error)' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--accent)', padding: '8px 0' },
  '.cm-line': { padding: '0 10px' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)' },
  '.cm-placeholder': { color: 'var(--mantine-color-placeholder)' },
  '.cm-gutters': {
    backgroundColor: 'transparent',
    color: 'var(--soft)',
    border: 'none',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'light-dark(#f0dccd, #4b3526)',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'light-dark(#f3e4d8, #3a2c22)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--card)',
    border: '1px solid var(--mantine-color-default-border)',
    borderRadius: 'var(--mantine-radius-md)',
    color: 'var(--mantine-color-text)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    maxHeight: '15em',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    background: 'light-dark(#f3ebe4, #3a2c22)',
    color: 'var(--mantine-color-text)',
  },
  '.cm-completionDetail': { color: 'var(--soft)', fontStyle: 'normal', marginLeft: '1em' },
  '.cm-diagnostic': { borderLeftColor: 'var(--mantine-color-error)' },
  '.cm-mergeView &, .cm-merge-a, .cm-merge-b': { borderRadius: '0' },
  '.cm-changedLine': { backgroundColor: 'light-dark(#eef6ee, #1d2a1f) !important' },
  '.cm-deletedChunk, &.cm-merge-a .cm-changedLine': { backgroundColor: 'light-dark(#fbeeec, #331f1d) !important' },
  '.cm-changedText': { background: 'light-dark(#cfe8d1, #2f5134) !important' },
  '&.cm-merge-a .cm-changedText, .cm-deletedText, .cm-deletedChunk .cm-deletedText': {
    background: 'light-dark(#f4cfca, #5c302b) !important',
  },
  // Few fonts have CodeMirror's own character.
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"⋯" !important' },
  '.cm-collapsedLines': {
    background: 'light-dark(var(--mantine-color-gray-1), var(--mantine-color-dark-6))',
    color: 'var(--soft)',
  },
});

const highlightStyle = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: 'light-dark(#8c2f6b, #e3a2cf)' },
  { tag: [tags.variableName, tags.propertyName], color: 'light-dark(#7a3d12, #e8b48c)' },
  { tag: [tags.string, tags.attributeValue], color: 'light-dark(#2f6b3c, #9fd3ab)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'light-dark(#3a5a8c, #a3c1ee)' },
  { tag: [tags.function(tags.variableName), tags.special(tags.brace)], color: 'light-dark(#5b4ba0, #bfb2f3)' },
  { tag: [tags.tagName, tags.angleBracket], color: 'light-dark(#3a5a8c, #a3c1ee)' },
  { tag: tags.attributeName, color: 'light-dark(#7a3d12, #e8b48c)' },
  { tag: [tags.comment, tags.meta], color: 'var(--soft)' },
  { tag: [tags.brace, tags.bracket, tags.separator, tags.punctuation], color: 'var(--soft)' },
]);

export const editorTheme: Extension = [
  EditorView.cspNonce.of(styleNonce),
  baseTheme,
  syntaxHighlighting(highlightStyle),
];
