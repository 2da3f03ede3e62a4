/**
 * What a push message consists of. The options come from a body that its author wrote as JSON; a body in Markdown has a
 * title and a text only, and is shown with the picture and the buttons of the message.
 */

import { Type } from 'typebox';
import { isObject } from '../../core/json.ts';
import { optionalBoolean, optionalInteger, optionalString } from '../../core/optional.ts';
import type { Content } from '../../core/render/render.ts';
import { headingOf, truncate } from '../chat-text.ts';
import type { Outgoing } from '../sending.ts';

/** How far a message may interrupt, https://developer.apple.com/documentation/usernotifications/unnotificationinterruptionlevel */
const levels = ['passive', 'active', 'time-sensitive', 'critical'] as const;
type Level = (typeof levels)[number];

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
  /** Absent: the platform's own, which is active. */
  level?: Level | undefined;
  /** The Android notification channel. */
  channel?: string | undefined;
  /** For the app. Platforms allow only texts as values. */
  data: Record<string, string>;
}

export type Addressed = Pick<Outgoing, 'id' | 'address' | 'content' | 'createdAt' | 'urgent'>;

/** Returns a message that replaces one without another sound. */
export function makeQuiet(message: PushMessage): PushMessage {
  return { ...message, sound: undefined, priority: 'normal', level: 'passive', channel: undefined };
}

/** Settings for urgent messages. */
export const alarmSettings = {
  alarm_sound: optionalString({
    minLength: 1,
    maxLength: 64,
    description: 'The sound of urgent messages. Default: that of other messages.',
  }),
  critical_alerts: optionalBoolean({
    description:
      'Whether urgent messages sound although a device of Apple is muted or in a Focus. Apple must have granted the app the entitlement for critical alerts. Default: false, they are time-sensitive.',
  }),
  critical_volume: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'The volume of critical alerts, from 0 to 1. Default: 1.' }),
  ),
};

export interface AlarmOptions {
  sound?: string | undefined;
  alarm_sound?: string | undefined;
  critical_alerts?: boolean | undefined;
  critical_volume?: number | undefined;
}

/** Adds the sound and the level of the settings. Critical is what they allow only; otherwise such a message is time-sensitive. */
export function withAlarm(push: PushMessage, urgent: boolean | undefined, options: AlarmOptions): PushMessage {
  const wanted = push.level ?? (urgent ? 'critical' : undefined);
  const level = wanted === 'critical' && !options.critical_alerts ? 'time-sensitive' : wanted;
  const own = isAlarm({ level }) ? (options.alarm_sound ?? options.sound) : options.sound;
  return { ...push, level, sound: push.sound ?? own };
}

export function isAlarm({ level }: Pick<PushMessage, 'level'>): boolean {
  return level === 'critical' || level === 'time-sensitive';
}

/** Returns what Apple reads of level and sound, https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification */
export function toAppleAlarm({ level, sound, silent }: PushMessage, { critical_volume = 1 }: AlarmOptions): object {
  if (silent) return {};
  const isCritical = level === 'critical';
  return {
    sound: isCritical ? { critical: 1, name: sound ?? 'default', volume: critical_volume } : sound,
    'interruption-level': level,
  };
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
    level: read<Level>('interruption_level', value => levels.includes(value as Level)),
    channel: read<string>('channel', isText),
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
