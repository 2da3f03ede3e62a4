/** Formats the time left as mm:ss, or h:mm:ss from an hour; undefined when none is left. */
export function countdown(ms: number): string | undefined {
  if (ms <= 0) return undefined;
  const seconds = Math.ceil(ms / 1_000);
  const two = (value: number) => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${two(minutes)}:${two(seconds % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}
