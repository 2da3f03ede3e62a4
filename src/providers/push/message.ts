/**
 * What a push message consists of. The options come from a body that its author wrote as JSON; a body in Markdown has a
 * title and a text only, and is shown with the picture and the buttons of the message.
 */

import { isObject } from '../../core/json.ts';
import { optionalInteger } from '../../core/optional.ts';
import type { Content } from '../../core/render/render.ts';
import { headingOf, truncate } from '../chat-text.ts';
import type { Outgoing } from '../sending.ts';

export interface PushMessage {
  title: string;
  body: string;
  image?: string | undefined;
  badge?: number | undefined;
  sound?: string | undefined;
  /** A later message with the same key replaces this one. */
  collapseKey?: string | undefined;
  ttlSeconds?: number | undefined;
  priority?: 'high' | 'normal' | undefined;
  /** Shown by no device: only the app gets the data. */
  silent: boolean;
  /** For the app. Platforms allow only texts as values. */
  data: Record<string, string>;
}

export type Addressed = Pick<Outgoing, 'id' | 'address' | 'content' | 'createdAt'>;

/** Returns a message that replaces one without another sound. */
export function makeQuiet(message: PushMessage): PushMessage {
  return { ...message, sound: undefined, priority: 'normal' };
}

export const defaultMaxInFlight = 200;

/** Setting of the services that answer many requests of one HTTP/2 connection at a time. */
export const MaxInFlight = optionalInteger({
  minimum: 1,
  maximum: 1_000,
  title: 'Requests in flight',
  description: `Maximum requests in flight per worker, within what the service allows for a connection. Default: ${defaultMaxInFlight}.`,
});

const maxTtlSeconds = 2_419_200;
/** Apple's limit for collapse ids, in bytes. */
const maxCollapseKeyLength = 64;

export function toPushMessage(id: string, content: Content): PushMessage {
  const { title, text, data, avatar, actions = [] } = content;
  const links = actions.flatMap(({ name, label, url }) => (url === undefined ? [] : [{ name, label, url }]));
  const own = { belfry_id: id, ...(links.length > 0 && { actions: JSON.stringify(links) }) };
  if (!isObject(data)) return { title, body: withoutTitle(title, text), image: avatar, silent: false, data: own };
  const read = <T>(name: string, isValid: (value: unknown) => boolean) =>
    isValid(data[name]) ? (data[name] as T) : undefined;
  const isText = (value: unknown) => typeof value === 'string' && value !== '';
  const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;
  const ttl = read<number>('ttl_seconds', isCount);
  return {
    title: read<string>('title', isText) ?? title,
    body: read<string>('body', isText) ?? '',
    image: read<string>('image', isText) ?? avatar,
    badge: read<number>('badge', isCount),
    sound: read<string>('sound', isText),
    collapseKey: read<string>('collapse_key', isText)?.slice(0, maxCollapseKeyLength),
    ttlSeconds: ttl === undefined ? undefined : Math.min(ttl, maxTtlSeconds),
    priority: read('priority', value => value === 'high' || value === 'normal'),
    silent: data.silent === true,
    data: { ...toTexts(data.data), ...own },
  };
}

/** Returns title and text for services that have no further options. */
export function toTitleAndText(id: string, content: Content): { title: string; text: string } {
  if (!isObject(content.data)) return { title: headingOf(content), text: content.text };
  const { title, body } = toPushMessage(id, content);
  return { title, text: body || title };
}

/** A text often repeats the title as its first line. */
function withoutTitle(title: string, text: string): string {
  return text === title || text.startsWith(`${title}\n`) ? text.slice(title.length).trim() : text;
}

function toTexts(data: unknown): Record<string, string> {
  if (!isObject(data)) return {};
  const texts = Object.entries(data).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return Object.fromEntries(texts);
}

/** Serializes a message with a body that is shortened until everything fits; undefined if it never does. */
export function fitBody(body: string, maxBytes: number, serialize: (body: string) => string): string | undefined {
  for (let maxLength = body.length; ; maxLength = Math.floor(maxLength * 0.9)) {
    const payload = serialize(truncate(body, maxLength));
    if (Buffer.byteLength(payload) <= maxBytes) return payload;
    if (maxLength === 0) return undefined;
  }
}
