/**
 * Mails to the address of a source, as core/sources/letter.ts has read them. Many programs write the state into the subject, such as
 * "PROBLEM: disk" and "RESOLVED: disk"; these belong together. Any other mail is another problem, unless it is in a conversation.
 */
import { findReference } from '../../feedback/identify.ts';
import type { JsonObject } from '../../json.ts';
import {
  type Alert,
  keyOf,
  readObject,
  type SkippedAlert,
  type SourcePreset,
  severityOf,
  stateOf,
  textOf,
  timeOf,
  titleOf,
} from '../alert.ts';
import { pickTexts } from './alertmanager.ts';

export const email: SourcePreset = {
  title: 'Email',
  read: request => readObject(request, readMail),
};

const words =
  'problem|alarm|alert|firing|triggered|down|failed|failure|critical|fatal|error|major|minor|warning|warn|' +
  'recovery|recovered|resolved|ok|up|normal|cleared|closed|success|acknowledgement|acknowledged|ack';
/** "** RECOVERY Service Alert: x **", "[FIRING:2] x", "PROBLEM: x", "Resolved in 5m: x", "DOWN | x". */
const starts = [
  String.raw`\*{1,3}\s?(${words})\s`,
  String.raw`[[(](${words})(?::\s?\d{1,5})?[\])]\s?[:|–-]?`,
  String.raw`(${words})(?:\sin\s[^:]{1,40})?(?::|\s[|–-])`,
].map(start => new RegExp(`^${start}\\s*(?=\\S)`, 'i'));
/** "x is DOWN", "x is OK **". */
const atEnd = new RegExp(String.raw`\s(?:is\s+)?(${words})[\s*.!)\]]{0,5}$`, 'i');
const replies = /^(?:(?:re|aw|fwd?|wg|sv|tr)\s{0,2}:\s{0,3}){1,5}/i;

function readMail(mail: JsonObject): Alert | SkippedAlert {
  const subject = textOf(mail.subject)?.trim() ?? '';
  const id = textOf(mail.message_id);
  if (subject === '' && id === undefined && textOf(mail.text) === undefined)
    throw new Error('has neither a subject nor a text');
  if (mail.is_reply === true) return { note: 'an automatic reply' };
  // A page that is sent to this address would cause the next one.
  if (findReference({ deliveryId: null, messageId: id ?? null })) return { note: 'a message of Belfry itself' };
  const { topic, word } = readSubject(subject);
  const key = textOf(mail.thread) ?? (word ? topic.toLowerCase() : (id ?? topic.toLowerCase()));
  return {
    ...(id !== undefined && { id: keyOf(`mail ${id}`) }),
    key: keyOf(key || 'mail'),
    state: /^ack/i.test(word ?? '') ? 'acknowledged' : stateOf(word),
    title: titleOf(subject, mail.text),
    severity: severityOf(word),
    time: timeOf(mail.date),
    context: {
      ...pickTexts(mail, {
        from: 'from',
        subject: 'subject',
        text: 'text',
        message_id: 'message_id',
        thread: 'thread',
      }),
      topic,
    },
  };
}

/** Returns the subject without marks of replies and words of the state, and the word of the state. */
function readSubject(subject: string): { topic: string; word: string | undefined } {
  const plain = subject.slice(0, 1_000).replace(replies, '');
  const [start, first] = starts.map(one => one.exec(plain)).find(found => found !== null) ?? [];
  const rest = start === undefined ? plain : plain.slice(start.length);
  const [end, last] = atEnd.exec(rest) ?? [];
  const topic = end === undefined ? rest : rest.slice(0, -end.length);
  return { topic: topic.trim() || plain.trim(), word: first ?? last };
}
