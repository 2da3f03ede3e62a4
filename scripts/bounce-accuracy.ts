/**
 * Measures how well bounce mails are read: `node scripts/bounce-accuracy.ts FOLDER`. The folder has `mails/SYSTEM-NUMBER.eml`
 * and `labels.json`: for each mail its recipients in order, each with `hard` and `reason` (`feedback` is a complaint,
 * `vacation` a reply of a program, `delivered` a success).
 *
 * A vocabulary can be learned by heart. So each system is also read without what only its own mails show: words, members of
 * groups and phrases that occur in no mail of another system are removed first. What remains must be enough.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import type { FeedbackReader } from '../src/core/feedback/event.ts';
import { parseMail } from '../src/core/feedback/mime.ts';
import { noticeVocabulary } from '../src/core/feedback/wording/notice-vocabulary.ts';
import { createMatcher, type Phrases } from '../src/core/feedback/wording/phrases.ts';
import { vocabulary } from '../src/core/feedback/wording/vocabulary.ts';
import { smtp } from '../src/providers/feedback/smtp.ts';

interface Label {
  reason: string;
  hard: boolean;
}

/**
 * Labels that the mail contradicts: the server says that the mailbox does not exist, and nothing says that it accepted the
 * recipient before. The same replies are labelled as permanent in mails of other systems.
 */
const disputed = new Set([
  'lhost-apachejames-01/0',
  'lhost-mailfoundry-01/0',
  'lhost-postfix-07/0',
  'lhost-receivingses-02/0',
  'lhost-surfcontrol-01/0',
  'lhost-x2-01/0',
  'lhost-x2-02/0',
  'lhost-x2-02/2',
  'lhost-yahoo-06/0',
  'lhost-zoho-03/0',
  'rfc3464-35/2',
]);

const folder = process.argv[2];
if (!folder) throw new Error('name the folder with labels.json and mails/');
const labels: Record<string, Label[]> = JSON.parse(readFileSync(path.join(folder, 'labels.json'), 'utf8'));
const mails = readdirSync(path.join(folder, 'mails')).map(file => {
  const name = path.basename(file, '.eml');
  const bytes = readFileSync(path.join(folder, 'mails', file));
  return { name, system: name.replace(/-\d+$/, ''), bytes, texts: textsOf(bytes) };
});
const systems = [...new Set(mails.map(({ system }) => system))].sort();

/** Returns the prose of a mail in pieces that the matcher reads whole. */
function textsOf(bytes: Buffer): string[] {
  const { headers, parts } = parseMail(bytes);
  const prose = parts
    .filter(({ type }) => !/^message\/rfc822$|headers/.test(type))
    .map(part => part.text().slice(0, 16_384));
  const whole = [headers.get('subject') ?? '', ...prose].join('\n\n');
  return whole.match(/[\s\S]{1,3500}(?:\n|$)/g) ?? [];
}

/** Which systems show an atom of a vocabulary: a word, a member of a group, a phrase or a fragment. */
class Evidence {
  readonly #systems = new Map<string, Set<string>>();

  add(atom: string, system: string): void {
    const known = this.#systems.get(atom);
    if (known) known.add(system);
    else this.#systems.set(atom, new Set([system]));
  }

  isOnlyOf(atom: string, system: string): boolean {
    const known = this.#systems.get(atom);
    return known?.size === 1 && known.has(system);
  }
}

const wordsOf = (phrase: string) => phrase.split(/ |\|/).filter(word => word !== '…' && !word.startsWith('{'));

function collectEvidence({ groups, topics, fragments }: Phrases): Evidence {
  const evidence = new Evidence();
  const phrases = [...Object.values(topics).flat(), ...Object.values(groups).flat()];
  const words = new Set(phrases.flatMap(wordsOf));
  const single = (list: Iterable<string>) => Object.fromEntries([...list].map(atom => [atom, [atom]]));
  const matcher = createMatcher({
    groups,
    topics: { ...single(phrases), ...single(words) },
    fragments: single(Object.values(fragments).flat()),
  });
  for (const { system, texts } of mails) {
    for (const atom of texts.flatMap(text => [...matcher.topicsOf(text)])) evidence.add(atom, system);
  }
  return evidence;
}

/** Returns the vocabulary without what only the mails of a system show. */
function without(system: string, { groups, topics, fragments }: Phrases, evidence: Evidence): Phrases {
  const isKept = (atom: string) => !evidence.isOnlyOf(atom, system);
  const reduce = (phrase: string) => {
    const elements = phrase.split(' ').map(element => {
      if (element === '…' || element.startsWith('{')) return element;
      return element.split('|').filter(isKept).join('|');
    });
    return elements.includes('') ? [] : [elements.join(' ')];
  };
  const each = (lists: Record<string, readonly string[]>, change: (atom: string) => string[]) =>
    Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, list.filter(isKept).flatMap(change)]));
  return { groups: each(groups, reduce), topics: each(topics, reduce), fragments: each(fragments, text => [text]) };
}

const files: Record<string, [name: string, phrases: Phrases, evidence: Evidence]> = {
  '/vocabulary.ts': ['vocabulary', vocabulary, collectEvidence(vocabulary)],
  '/notice-vocabulary.ts': ['noticeVocabulary', noticeVocabulary, collectEvidence(noticeVocabulary)],
};

// Loads a second copy of the reader for each `?without=SYSTEM`, whose vocabularies are reduced.
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const query = context.parentURL?.split('?')[1];
    return query && resolved.url.startsWith('file:') && resolved.url.includes('/src/') && !resolved.url.includes('?')
      ? { ...resolved, url: `${resolved.url}?${query}` }
      : resolved;
  },
  load(url, context, next) {
    const { pathname, searchParams } = new URL(url);
    const system = searchParams.get('without');
    const file = Object.keys(files).find(name => pathname.endsWith(name));
    if (system === null || !file) return next(url, context);
    const [name, phrases, evidence] = files[file]!;
    const source = `export const ${name} = ${JSON.stringify(without(system, phrases, evidence))};`;
    return { format: 'module', source, shortCircuit: true };
  },
});

interface Count {
  recipients: number;
  agree: number;
  /** With disputed labels corrected. */
  corrected: number;
  wronglyPermanent: number;
  disagreements: string[];
}

function measure(reader: FeedbackReader, system: string): Count {
  const count: Count = { recipients: 0, agree: 0, corrected: 0, wronglyPermanent: 0, disagreements: [] };
  for (const { name, bytes } of mails.filter(mail => mail.system === system)) {
    const events = reader.read({ contentType: 'message/rfc822', bytes });
    for (const [i, label] of (labels[name] ?? []).entries()) {
      const event = events[i];
      const isBounce = event?.type === 'bounced' || event?.type === 'deferred';
      const actual = !event ? 'nothing' : isBounce ? (event.permanent ? 'permanent' : 'temporary') : event.type;
      const expected = expectedOf(label);
      const isDisputed = disputed.has(`${name}/${i}`);
      const isRight = actual === (isDisputed ? 'permanent' : expected);
      count.recipients++;
      count.agree += actual === expected ? 1 : 0;
      count.corrected += isRight ? 1 : 0;
      count.wronglyPermanent += actual === 'permanent' && !isRight ? 1 : 0;
      if (!isRight) count.disagreements.push(`${name}/${i}: ${actual}, labelled ${expected} (${label.reason})`);
    }
  }
  return count;
}

function expectedOf({ reason, hard }: Label): string {
  const others: Record<string, string> = { feedback: 'complained', vacation: 'nothing', delivered: 'delivered' };
  return others[reason] ?? (hard ? 'permanent' : 'temporary');
}

const sum = (counts: readonly Count[], field: 'recipients' | 'agree' | 'corrected' | 'wronglyPermanent') =>
  counts.reduce((total, count) => total + count[field], 0);
const percent = (part: number, total: number) => `${((100 * part) / total).toFixed(1)} %`;

function summarize(title: string, counts: readonly Count[]): void {
  const total = sum(counts, 'recipients');
  const parts = [
    `${percent(sum(counts, 'agree'), total)} agree with the labels`,
    `${percent(sum(counts, 'corrected'), total)} with disputed labels corrected`,
    `${percent(sum(counts, 'wronglyPermanent'), total)} wrongly permanent`,
  ];
  console.log(`${title}: of ${total} recipients ${parts.join(', ')}`);
}

const ordinary = systems.map(system => measure(smtp, system));
const reduced: Count[] = [];
for (const system of systems) {
  const copy = await import(`../src/providers/feedback/smtp.ts?without=${system}`);
  reduced.push(measure(copy.smtp, system));
}
console.log('system, recipients, right, right without what only this system shows');
for (const [i, system] of systems.entries()) {
  console.log(
    `${system.padEnd(24)} ${[ordinary[i]!.recipients, ordinary[i]!.corrected, reduced[i]!.corrected].join('  ')}`,
  );
}
for (const [title, counts] of [
  ['ordinary', ordinary],
  ['leave one out', reduced],
] as const) {
  console.log(`\n${title}:\n  ${counts.flatMap(({ disagreements }) => disagreements).join('\n  ')}`);
}
summarize('\nordinary', ordinary);
summarize('leave one out', reduced);
