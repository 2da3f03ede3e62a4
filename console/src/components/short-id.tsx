/** An identifier in a list: its end, which is what tells two of the same minute apart. */
export function shortId(identifier: string): string {
  return `…${identifier.slice(-8)}`;
}

export function ShortId({ value }: { value: string }) {
  return (
    <span className="mono" title={value} style={{ whiteSpace: 'nowrap' }}>
      {shortId(value)}
    </span>
  );
}
