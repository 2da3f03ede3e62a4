/** What an editor for code takes: of the field around it and of CodeMirror inside, which is loaded later. */
import type { Scope } from './completions.ts';

/** Where something is wrong; lines and columns begin with 1. */
export interface Mistake {
  line: number | null;
  column: number | null;
  message: string;
}

export interface CodeProps {
  value: string;
  onChange?: (value: string) => void;
  language: 'liquid' | 'json' | 'text';
  /** For readers of the screen, also where it is not shown. */
  label: string;
  /** Variables that are offered while somebody writes. */
  scope?: Scope;
  mistakes?: readonly Mistake[];
  placeholder?: string;
  singleLine?: boolean;
  lineNumbers?: boolean;
  readOnly?: boolean;
  minHeight?: number;
  maxHeight?: number | string;
}
