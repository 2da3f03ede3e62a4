/** Settings that providers of every medium share. */
import { Type } from 'typebox';
import { optionalInteger, optionalString } from '../core/optional.ts';

export const TimeoutMs = optionalInteger({
  minimum: 100,
  maximum: 300_000,
  description: 'How long to wait for a response, in milliseconds. Default: 10000.',
});

/** A URL to which credentials are sent. */
export const apiUrl = {
  destination: true,
  maxLength: 2048,
  // A password in the URL would be stored and exported in plain text.
  pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
  format: 'url',
  patternHint: 'must be an http or https URL without a user name or a query',
} as const;

/** The optional URL of an HTTP API. */
export function endpoint(defaultUrl: string, example: string) {
  return optionalString({
    ...apiUrl,
    description: `The URL of the API, such as ${example}. Default: ${defaultUrl}.`,
  });
}

/** The URL of the user's own server. */
export function serverUrl(description: string, example: string) {
  return Type.String({ ...apiUrl, description, examples: [example] });
}

/** A key that is sent in a header, so it must be visible ASCII. */
export function secretKey(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: 512,
    pattern: '^[!-~]+$',
    patternHint: 'must not contain spaces',
    secret: true,
    description,
  });
}

/** The optional secret by which requests of the service, which report what became of messages, are recognized. */
export function webhookSecret(description: string) {
  return optionalString({
    secret: true,
    minLength: 1,
    maxLength: 1_024,
    pattern: '^[!-~]+$',
    patternHint: 'must not contain spaces',
    description,
  });
}

/** For services that sign nothing. */
export const webhookCredentials = webhookSecret(
  'user:password, if you add them to the address of the webhook (https://user:password@…). Without it, the secret address is enough.',
);

/** The address of the channel's feedback, for services that need it with every message. */
export const statusCallback = optionalString({
  maxLength: 2048,
  pattern: '^https?://[^\\s/?#@]+/\\S+$',
  format: 'url',
  patternHint: 'must be an http or https URL with a path and without a user name',
  description: 'Where the service reports what became of a message: the address that the channel shows.',
});

/** Joins base and path with one slash between them. */
export function join(base: string, path: string): string {
  return `${base.replace(/\/+$/, '')}${path}`;
}

/** A URL that is a secret as a whole: anyone who knows it can post to its channel. */
export function secretUrl(description: string) {
  return Type.String({
    secret: true,
    maxLength: 2048,
    pattern: '^https?://[^\\s/?#@]+/\\S+$',
    format: 'url',
    patternHint: 'must be an http or https URL with a path and without a user name',
    description,
  });
}

/** Returns the parts of a secret URL that a peer may echo and that must be hidden. The host is not a secret. */
export function secretPartsOf(url: string): string[] {
  if (!URL.canParse(url)) return [url];
  const { href, pathname, search, searchParams } = new URL(url);
  const pieces = [...pathname.split('/'), ...searchParams.values()].filter(piece => piece.length >= 16);
  return [url, href, pathname + search, ...(pathname.length > 1 ? [pathname] : []), ...pieces];
}
