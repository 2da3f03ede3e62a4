/** Reads the prose of a report: where it ends and the returned message begins, and which recipients it names. */

export interface Notice {
  /** Before the returned message. */
  text: string;
  /** The returned message, if it follows in the same part. */
  rest: string;
  hasOriginal: boolean;
  /** The message is still in the queue. */
  isDelay: boolean;
}

export interface NamedRecipient {
  address: string;
  /** What is said about this recipient. */
  text: string;
}

/** Reports are short; whatever follows is a returned message. */
const maxChars = 65_536;
const maxLines = 2_000;
const maxRecipients = 50;

const marker =
  /^[\s>*#=_-]{0,80}(this is a copy of|below (this line )?is (a copy|the)|included is a copy|enclosed is a copy|(the )?headers? of the original|message headers follow|a copy of (the|your) (original )?(message|mail)|((the|your) )?(original|returned|unsent|undelivered) (message|mail)( headers?)?( (is )?follow(s|ing))?[\s.:=_-]{0,80}$)/i;
const headerLine = /^(received|return-path|dkim-signature|message-id|mime-version|delivered-to|x-[\w-]{1,60}):/i;
const delay =
  /warning message only|(do|does) not need to re-?send|no need to re-?send|(has|have) been delayed|is delayed|will be retried|will (continue|keep) (trying|to try)|only a temporary|still trying|will be attempted again|not yet (been )?(delivered|received)|delay in the delivery/i;
const giveUp = /(will be deleted|given up|giving up|permanent|fatal error|no further|not be retried|stopped trying)/i;

export function cutNotice(whole: string): Notice {
  const lines = whole.slice(0, maxChars).replaceAll('\r\n', '\n').split('\n', maxLines).map(unquote);
  const isEnd = (line: string, i: number) =>
    i > 0 && (marker.test(line) || (headerLine.test(line) && isHeader(lines[i + 1])));
  const end = lines.findIndex(isEnd);
  const text = (end < 0 ? lines : lines.slice(0, end)).join('\n');
  const after = end < 0 ? [] : lines.slice(end);
  const first = after.findIndex(line => /^[\w-]{2,60}:/.test(line));
  const isWarning = /warning message only|only a temporary/i.test(text);
  return {
    text,
    rest: first < 0 ? '' : after.slice(first).join('\n'),
    hasOriginal: end >= 0,
    isDelay: isWarning || (delay.test(text) && !giveUp.test(text)),
  };
}

/** A forwarded report is quoted. */
function unquote(line: string): string {
  return line.startsWith('> ') || line === '>' ? line.slice(2) : line;
}

function isHeader(line: string | undefined): boolean {
  return line !== undefined && /^([\w-]{2,60}:|[ \t])/.test(line);
}

/** Returns the recipients that a line starts with, or follows a label, each with the text up to the next one. */
export function recipientsIn({ text }: Notice, excluded: ReadonlySet<string>): NamedRecipient[] {
  const found: NamedRecipient[] = [];
  const others: string[] = [];
  for (const line of text.split('\n')) {
    const addresses = line.includes('@') ? addressesIn(line) : [];
    const [address] = addresses;
    // A summary of the returned message names its recipients, whether or not they got it.
    const isHeaderLine = /^\s*(to|cc|from|sender|message-id|mail from):/i.test(line);
    const isOther = !address || isHeaderLine || excluded.has(address.toLowerCase()) || isReporter(address);
    if (!isOther) {
      const starts =
        /^[\s<"'>*-]*(((final[- ])?recipient|recipient address|address|addressed to|unable to deliver message to)[\s:]+)?[<"']*/i.exec(
          line,
        )![0];
      const isNamed = line.slice(starts.length).startsWith(address);
      const isNew = !found.some(one => one.address.toLowerCase() === address.toLowerCase());
      if (isNamed && isNew && found.length < maxRecipients) found.push({ address, text: '' });
      else if (isNew) others.push(address);
    }
    const current = found.at(-1);
    if (current) current.text += `${line}\n`;
  }
  if (found.length > 0) return found;
  return others.length > 0 ? [{ address: others[0]!, text }] : [];
}

function isReporter(address: string): boolean {
  return /^(mailer-daemon|postmaster|abuse|support)@/i.test(address);
}

/** Returns the addresses in a text. Splitting is linear, whatever the text. */
export function addressesIn(text: string): string[] {
  return text
    .slice(0, maxChars)
    .split(/[\s<>()[\]",;:'|]+/)
    .filter(word => word.length <= 320 && /^[^@]{1,64}@[^@]{1,255}$/.test(word))
    .map(word => word.replace(/[.?!…]+$/, ''))
    .slice(0, 1_000);
}
