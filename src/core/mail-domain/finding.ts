/** What the check of a sending domain reports. */
export const severities = ['error', 'warning', 'unchecked', 'info'] as const;
/** `unchecked`: DNS gave no answer, so nothing is known. */
export type Severity = (typeof severities)[number];

export const areas = ['spf', 'dkim', 'dmarc', 'mx', 'server'] as const;
export type Area = (typeof areas)[number];

/** A DNS record to publish. */
export interface DnsRecord {
  name: string;
  type: 'TXT' | 'MX' | 'PTR';
  value: string;
}

export interface Finding {
  /** Stable; its first part is the area. */
  code: string;
  area: Area;
  severity: Severity;
  message: string;
  /** Present if publishing a record solves the problem. */
  record?: DnsRecord;
}

/** Collects findings; the same one is reported once, even if several senders have it. */
export class Findings {
  readonly #all = new Map<string, Finding>();

  add(severity: Severity, code: `${Area}.${string}`, message: string, record?: DnsRecord): void {
    const area = code.split('.')[0] as Area;
    this.#all.set(`${code} ${message}`, { code, area, severity, message, ...(record && { record }) });
  }

  /** Reports that a question has no answer. */
  addUnchecked(area: Area, what: string, reason: string): void {
    this.add('unchecked', `${area}.unchecked`, `${what} could not be checked: ${reason}.`);
  }

  list(): Finding[] {
    const rank = ({ area, severity }: Finding) =>
      areas.indexOf(area) * severities.length + severities.indexOf(severity);
    return [...this.#all.values()].sort((a, b) => rank(a) - rank(b));
  }
}

/** Shortens text from DNS, which anyone can publish, for use in a sentence. */
export function quote(text: string, maxLength = 100): string {
  const plain = text.replace(/[^\x20-\x7e]/g, '?');
  return `"${plain.length > maxLength ? `${plain.slice(0, maxLength - 1)}…` : plain}"`;
}
