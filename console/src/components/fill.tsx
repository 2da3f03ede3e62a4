import { Fragment, type ReactNode } from 'react';

/** Returns a text of the catalog with elements in place of its placeholders, such as `{name}`. */
export function fill(text: string, elements: Record<string, ReactNode>): ReactNode {
  return text
    .split(/\{(\w+)\}/)
    .map((piece, i) => (i % 2 === 0 ? piece : <Fragment key={piece}>{elements[piece]}</Fragment>));
}
