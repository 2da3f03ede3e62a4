/** Settings that providers of every medium have alike. */
import { Type } from 'typebox';

export const TimeoutMs = Type.Optional(
  Type.Integer({
    minimum: 100,
    maximum: 300_000,
    description: 'How long to wait for an answer, in milliseconds. Absent: 10000.',
  }),
);

/** An address of an HTTP API, and what is taken when it is absent. */
export function endpoint(usual: string, suchAs: string) {
  return Type.Optional(
    Type.String({
      destination: true,
      maxLength: 2048,
      // A password in the address would be stored and exported in the clear.
      pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
      patternHint: 'must be an http or https address without a user name or a query in it',
      description: `Another address of the API, such as ${suchAs}. Absent: ${usual}.`,
    }),
  );
}

/** Base and path, with one slash between them. */
export function join(base: string, path: string): string {
  return `${base.replace(/\/+$/, '')}${path}`;
}

/** An address that is a secret as a whole: whoever knows it may write to the room behind it. */
export function secretUrl(description: string) {
  return Type.String({
    secret: true,
    maxLength: 2048,
    pattern: '^https?://[^\\s/?#@]+/\\S+$',
    patternHint: 'must be an http or https address with a path, and without a user name in it',
    description,
  });
}

/** What must not be seen of such an address, however much of it a peer repeats. The host is no secret. */
export function partsOfUrl(url: string): string[] {
  if (!URL.canParse(url)) return [url];
  const { href, pathname, search, searchParams } = new URL(url);
  const pieces = [...pathname.split('/'), ...searchParams.values()].filter(piece => piece.length >= 16);
  return [url, href, pathname + search, ...(pathname.length > 1 ? [pathname] : []), ...pieces];
}
