/**
 * Finds phrases in the prose of mail servers. A phrase is a sequence of words; texts and phrases are reduced to the words that
 * carry meaning, so "The mailbox has been disabled" contains "mailbox disabled". The time is linear in the text.
 *
 * In a phrase, `a|b` is either word, `word*` any word with that start, `{name}` any phrase of a group, and `…` a gap of up to
 * five words within the sentence. Addresses and host names in a text are the words `@` and `@host`, and never interrupt a phrase.
 */

export interface Phrases {
  /** Phrases that others contain by name. They contain no groups and no gaps. */
  groups: Record<string, readonly string[]>;
  /** The phrases of each topic. */
  topics: Record<string, readonly string[]>;
  /** Texts of languages that do not separate words, by topic. */
  fragments: Record<string, readonly string[]>;
}

export interface Matcher {
  /** Returns the topics of a text. */
  topicsOf(text: string, senders?: ReadonlySet<string>): Set<string>;
}

const maxChars = 4_096;
const maxWordLength = 40;
const maxGap = 5;
const sentenceEnd = '.';
const gap = '…';

/** Words without a meaning of their own. Those that make a difference, such as "your", are none of them. */
const fillers = new Set(
  'the a an this that these those any is was are were be been being has have had of for by on at it its as there does do did can could would will shall should currently now i you we he she they also just please sorry'.split(
    ' ',
  ),
);

/** Any of some words. */
interface Choice {
  words: ReadonlySet<string>;
  starts: readonly string[];
}

type Step = { hasGap: boolean; choices: Choice[] } | { hasGap: boolean; group: string };

interface Phrase {
  topic: string;
  steps: Step[];
}

export function createMatcher({ groups, topics, fragments }: Phrases): Matcher {
  const members = new Index<{ name: string; choices: Choice[] }>();
  for (const [name, phrases] of Object.entries(groups)) {
    for (const choices of phrases.map(toChoices)) members.add(choices[0], { name, choices });
  }
  const byWord = new Index<Phrase>();
  const byGroup = new Map<string, Phrase[]>();
  for (const [topic, phrases] of Object.entries(topics)) {
    for (const steps of phrases.map(toSteps)) {
      const [first] = steps;
      if (first && 'choices' in first) byWord.add(first.choices[0], { topic, steps });
      else if (first) byGroup.set(first.group, [...(byGroup.get(first.group) ?? []), { topic, steps }]);
    }
  }
  const pieces = Object.entries(fragments).map(([topic, texts]) => [topic, texts.map(simplify)] as const);

  return {
    topicsOf(text, senders) {
      const words = toWords(text, senders);
      const known = new Map<number, Map<string, number[]>>();
      /** Returns where the members of each group end that start at a position. */
      const groupsAt = (position: number) => {
        let ends = known.get(position);
        if (!ends) {
          ends = new Map();
          for (const { name, choices } of members.startingWith(words[position]!)) {
            const end = endOf(choices, words, position);
            if (end >= 0) ends.set(name, [...(ends.get(name) ?? []), end]);
          }
          known.set(position, ends);
        }
        return ends;
      };
      const endsOf = (step: Step, position: number): number[] => {
        if ('group' in step) return groupsAt(position).get(step.group) ?? [];
        const end = endOf(step.choices, words, position);
        return end < 0 ? [] : [end];
      };
      const continues = (steps: Step[], from: number, position: number): boolean => {
        const step = steps[from];
        if (!step) return true;
        let skipped = 0;
        for (let i = position; i < words.length && words[i] !== sentenceEnd; i++) {
          if (endsOf(step, i).some(end => continues(steps, from + 1, end))) return true;
          if (words[i]!.startsWith('@')) continue;
          if (++skipped > (step.hasGap ? maxGap : 0)) break;
        }
        return false;
      };
      const found = new Set<string>();
      for (let i = 0; i < words.length; i++) {
        const candidates = byWord.startingWith(words[i]!);
        for (const group of groupsAt(i).keys()) candidates.push(...(byGroup.get(group) ?? []));
        for (const { topic, steps } of candidates) {
          if (!found.has(topic) && endsOf(steps[0]!, i).some(end => continues(steps, 1, end))) found.add(topic);
        }
      }
      const plain = simplify(text.slice(0, maxChars));
      for (const [topic, texts] of pieces) if (texts.some(piece => plain.includes(piece))) found.add(topic);
      return found;
    },
  };
}

/** Values by the word, or the start of a word, that they begin with. */
class Index<Value> {
  readonly #words = new Map<string, Value[]>();
  readonly #starts = new Map<string, Value[]>();

  add(choice: Choice | undefined, value: Value): void {
    for (const word of choice?.words ?? []) push(this.#words, word, value);
    for (const start of choice?.starts ?? []) push(this.#starts, start, value);
  }

  startingWith(word: string): Value[] {
    const found = [...(this.#words.get(word) ?? [])];
    for (let length = 2; length <= word.length; length++) {
      const values = this.#starts.get(word.slice(0, length));
      if (values) found.push(...values);
    }
    return found;
  }
}

function push<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const values = map.get(key);
  if (values) values.push(value);
  else map.set(key, [value]);
}

/** Returns the position after the words, or -1. */
function endOf(choices: readonly Choice[], text: readonly string[], position: number): number {
  let at = position;
  for (const { words, starts } of choices) {
    while (at > position && text[at]?.startsWith('@') && !words.has(text[at]!)) at++;
    const word = text[at];
    const matches = word !== undefined && (words.has(word) || starts.some(start => word.startsWith(start)));
    if (!matches) return -1;
    at++;
  }
  return at;
}

function toChoices(phrase: string): Choice[] {
  return phrase
    .split(' ')
    .filter(Boolean)
    .map(element => {
      const all = element.split('|');
      const words = all.filter(word => !word.endsWith('*') && !fillers.has(word)).map(simplify);
      const starts = all.filter(word => word.endsWith('*')).map(word => simplify(word.slice(0, -1)));
      return { words: new Set(words), starts };
    })
    .filter(({ words, starts }) => words.size + starts.length > 0);
}

function toSteps(phrase: string): Step[] {
  const steps: Step[] = [];
  let hasGap = false;
  for (const run of phrase.split(/ ?(…|\{\w+\}) ?/).filter(Boolean)) {
    if (run === gap) hasGap = true;
    else {
      const group = /^\{(\w+)\}$/.exec(run)?.[1];
      const step: Step = group ? { hasGap, group } : { hasGap, choices: toChoices(run) };
      if ('group' in step || step.choices.length > 0) steps.push(step);
      hasGap = false;
    }
  }
  return steps;
}

/** Lower case without accents, so that "Boîte" is "boite" and "ﬁ" is "fi". */
function simplify(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase();
}

const token = /[\p{L}\p{N}_](?:[\p{L}\p{N}_'.@=+-]{0,200}[\p{L}\p{N}_])?|[.;!?](?=\s|$)/gu;

/** Splits a text into words that carry meaning. */
function toWords(text: string, senders: ReadonlySet<string> = new Set()): string[] {
  const plain = text
    .slice(0, maxChars)
    .replaceAll('’', "'")
    .replace(/\bto (the )?(original )?sender\b/gi, '. ')
    .replace(/\.{2,}/g, ' ');
  const words: string[] = [];
  for (const [found] of plain.matchAll(token)) {
    if (found.includes('@')) words.push(senders.has(found.toLowerCase()) ? '@sender' : '@');
    else if (isHost(found)) words.push('@host');
    // A reply code starts another statement.
    else if (/^(?:[.;!?]|[245]\d\d)$/.test(found)) words.push(sentenceEnd);
    // An id.
    else if (/\d/.test(found) && found.includes('-')) continue;
    else words.push(...splitToken(found));
  }
  return words;
}

function isHost(found: string): boolean {
  return /^[a-z\d-]+(\.[a-z\d-]+)*\.[a-z]{2,24}$/.test(found) || /^[A-Z\d-]+(\.[A-Z\d-]+)+$/.test(found);
}

/** "RESOLVER.ADR.RecipNotFound" is four words, "couldn't" is "not", and numbers and fillers are none. */
function splitToken(found: string): string[] {
  return simplify(found.replace(/(\p{Ll})(?=\p{Lu})/gu, '$1 '))
    .replace(/\b(can|won|don)'?t\b|\bcannot\b/g, ' not ')
    .replace(/n'?t\b(?<=(?:is|are|was|were|does|do|did|has|have|could|would|should)n'?t)/g, ' not ')
    .split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '' && !/^\d+$/.test(word) && !fillers.has(word))
    .map(word => word.slice(0, maxWordLength));
}
