/**
 * DNS answers as plain data, so that the rules need no I/O: an examination reads the answers that it has and notes the
 * questions that it still needs. The caller looks those up and examines again, until no question is left.
 */
export type RecordType = 'TXT' | 'A' | 'AAAA' | 'MX' | 'CNAME' | 'PTR';

export interface Question {
  type: RecordType;
  name: string;
}

export type Answer =
  /** Names are in lower case without a final dot. An MX record is `PREFERENCE NAME`. */
  | { status: 'found'; records: readonly string[] }
  /** The name, or a record of this type, does not exist. */
  | { status: 'none' }
  /** It is unknown whether there is a record. `reason` completes "could not be checked: ". */
  | { status: 'failed'; reason: string };

export type Answers = ReadonlyMap<string, Answer>;

export function keyOf({ type, name }: Question): string {
  return `${type} ${name}`;
}

export class Lookups {
  /** Questions that have no answer yet. */
  readonly wanted = new Map<string, Question>();
  readonly #answers: Answers;

  constructor(answers: Answers) {
    this.#answers = answers;
  }

  /** Returns undefined if the answer is not there yet. */
  find(type: RecordType, name: string): Answer | undefined {
    if (!isHostName(name)) return { status: 'none' };
    const question = { type, name };
    const answer = this.#answers.get(keyOf(question));
    if (!answer) this.wanted.set(keyOf(question), question);
    return answer;
  }

  /** Returns the IPv4 and IPv6 addresses of a name. One of the two is enough, so a failure counts only without the other. */
  findAddresses(name: string): Answer | undefined {
    const both = [this.find('A', name), this.find('AAAA', name)];
    if (both.includes(undefined)) return undefined;
    const records = both.flatMap(answer => (answer?.status === 'found' ? answer.records : []));
    if (records.length > 0) return { status: 'found', records };
    return both.find(answer => answer?.status === 'failed') ?? { status: 'none' };
  }
}

/** Returns whether a text can be the name of a DNS record: labels of letters, digits, hyphens and underscores. */
export function isHostName(name: string): boolean {
  return (
    name.length <= 253 &&
    /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(name)
  );
}

/** Returns a domain in its ASCII form, or undefined if it is not one. */
export function readDomain(text: string): string | undefined {
  const trimmed = text.trim().replace(/\.$/, '');
  if (/[\s/:@?#\\[\]%]/.test(trimmed) || !URL.canParse(`http://${trimmed}`)) return undefined;
  const name = new URL(`http://${trimmed}`).hostname;
  return isHostName(name) && /\.[a-z][a-z0-9-]*$/.test(name) ? name : undefined;
}

/** Returns the domain of a mailbox such as `Acme <no-reply@acme.test>`, in its ASCII form. */
export function domainOfMailbox(mailbox: string): string | undefined {
  const [, domain] = /@([^@>\s]+)>?\s*$/.exec(mailbox) ?? [];
  return domain === undefined ? undefined : readDomain(domain);
}

/** Returns the host of a URL if it is a name that can be public: no address, and not a single label such as localhost. */
export function hostNameOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? readDomain(new URL(url).hostname) : undefined;
}
