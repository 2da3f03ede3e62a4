/** Shortens an identifier to its end, which differs even between two of the same minute. */
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
