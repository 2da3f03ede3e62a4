/** What is kept of a request besides its body, and the request as it was. */
import type { JsonObject } from '../../../core/json.ts';
import { type SourceRequest, sourceLimits } from '../../../core/sources/alert.ts';

const maxHeaderLength = 1_000;

/** What a preset reads of a request, without the token and without credentials. */
export function describeRequest({ method, url, headers, contentType, key }: SourceRequest): JsonObject {
  const shown = Object.entries(headers).filter(([name]) => name.startsWith('ce-') || name === 'user-agent');
  const texts = shown.map(([name, value = '']) => [name, storable(value).slice(0, maxHeaderLength)]);
  return {
    method,
    url: storable(withoutToken(url)),
    content_type: storable(contentType).slice(0, maxHeaderLength),
    headers: Object.fromEntries(texts),
    ...(key && { key }),
  };
}

function withoutToken(url: string): string {
  return url
    .replace(/^(\/in\/|\/integrations\/v1\/[^/]+\/)[^/?]+/, '$1…')
    .replace(/([?&]access_token=)[^&]*/, '$1…')
    .slice(0, 8_000);
}

/** Returns the text without what PostgreSQL cannot store. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** Returns the request as presets read it. */
export function toOriginal({ request, body }: { request: JsonObject; body: Buffer }): SourceRequest {
  const { method, url, content_type, headers, key } = request as Record<string, string> & {
    headers: Record<string, string>;
  };
  return { method, url, headers, contentType: content_type, bytes: body, ...(key && { key }) } as SourceRequest;
}

/** Whether all of the body is kept. */
export function isWhole({ bytes, body }: { bytes: number; body: Buffer }): boolean {
  return bytes <= sourceLimits.keptBytes && body.length === bytes;
}
