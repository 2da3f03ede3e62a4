/** Props shared by the code field and the lazily loaded CodeMirror in it. */
import type { Scope } from './completions.ts';

/** An error with its position; lines and columns start at 1. */
export interface SourceError {
  line: number | null;
  column: number | null;
  message: string;
}

export interface CodeProps {
  value: string;
  onChange?: (value: string) => void;
  language: 'liquid' | 'json' | 'text';
  /** Accessible name, also when the label is hidden. */
  label: string;
  /** Variables offered as completions. */
  scope?: Scope;
  sourceErrors?: readonly SourceError[];
  placeholder?: string;
  singleLine?: boolean;
  lineNumbers?: boolean;
  readOnly?: boolean;
  minHeight?: number;
  maxHeight?: number | string;
}
