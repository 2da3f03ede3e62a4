import { Fragment } from 'react';

/** An address, URL or name that wraps after its punctuation, instead of inside a word. */
export function Breakable({ text }: { text: string }) {
  return (
    <span className="breakable">
      {text.split(/(?<=[@./:_-])(?=\w)/).map((part, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two parts can be equal, only the position differs
        <Fragment key={i}>
          {i > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}
