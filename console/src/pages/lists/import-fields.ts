/** Maps the columns of an imported file to fields. */
import { texts } from '../../texts/lists.ts';

/** Name of the column in the imported CSV; empty if it is not imported. */
export type Target = string;

export const notImported: Target = '';

const fields: { target: Target; label: string; pattern: RegExp }[] = [
  { target: 'email', label: texts.email, pattern: /^(e-?mail|mail|email[ _-]?address|e-?mail-?adresse)$/ },
  {
    target: 'first_name',
    label: texts.firstName,
    pattern: /^(first[ _-]?name|given[ _-]?name|forename|vorname|prénom)$/,
  },
  { target: 'last_name', label: texts.lastName, pattern: /^(last[ _-]?name|surname|family[ _-]?name|nachname|nom)$/ },
  { target: 'locale', label: texts.language, pattern: /^(locale|lang|language|sprache)$/ },
  { target: 'active', label: texts.active, pattern: /^(active|enabled|subscribed|aktiv)$/ },
  {
    target: 'phone',
    label: texts.phone,
    pattern: /^(phone|mobile|cell|tel|telephone|phone[ _-]?number|telefon|handy)$/,
  },
  { target: 'sms', label: texts.smsNumber, pattern: /^sms$/ },
  { target: 'opt_out', label: texts.optOut, pattern: /^(opt[ _-]?out|opted[ _-]?out|unsubscribed?)$/ },
];

const addressKinds = ['slack', 'telegram', 'chat', 'webhook', 'whatsapp'];

/** Derives a custom field from a header: `Postal code` becomes `custom.postal_code`. */
function customOf(header: string): Target {
  const key = header
    .normalize('NFC')
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_');
  return `custom.${key.replaceAll(/^_+|_+$/g, '') || 'field'}`;
}

export function guess(header: string, samples: string[]): Target {
  const plain = header.trim().toLowerCase();
  if (/^(address|custom)\../.test(plain)) return header.trim();
  const found = fields.find(({ pattern }) => pattern.test(plain));
  if (found) return found.target;
  const filled = samples.filter(text => text.trim() !== '');
  if (filled.length > 0 && filled.every(text => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text.trim()))) return 'email';
  return notImported;
}

/** Guesses the field of each column, without using a field twice. */
export function guessAll(headers: string[], rows: string[][]): Target[] {
  const used = new Set<Target>();
  return headers.map((header, i) => {
    const target = guess(
      header,
      rows.map(row => row[i] ?? ''),
    );
    if (target === notImported || used.has(target)) return notImported;
    used.add(target);
    return target;
  });
}

export function choicesFor(header: string) {
  const own = /^(address|custom)\../.test(header) ? [header.trim()] : [];
  return [
    { group: texts.skip, items: [{ value: 'leave-out', label: texts.doNotImport }] },
    { group: texts.user, items: fields.map(({ target, label }) => ({ value: target, label })) },
    {
      group: texts.more,
      items: [
        ...own.map(target => ({ value: target, label: target })),
        { value: customOf(header), label: texts.customField(customOf(header).slice('custom.'.length)) },
        ...addressKinds.map(kind => ({ value: `address.${kind}`, label: `Address: ${kind}` })),
      ].filter(({ value }, i, all) => all.findIndex(each => each.value === value) === i),
    },
  ];
}

/** Whether the first row contains users instead of column names. */
export function looksLikeData(row: string[]): boolean {
  return row.some(cell => /^[^\s@]+@[^\s@]+$/.test(cell.trim()));
}
