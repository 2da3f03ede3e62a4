/** HTML without scripts. The `html` tag escapes every value. */
import { escapeHtml } from '../../core/render/markdown/html.ts';

/** Text that is already HTML. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export function html(strings: TemplateStringsArray, ...values: (string | number | Html | Html[] | undefined)[]): Html {
  const parts = values.map(value => {
    if (value === undefined) return '';
    if (value instanceof Html) return value.text;
    return Array.isArray(value) ? value.map(one => one.text).join('') : escapeHtml(String(value));
  });
  return new Html(strings.map((text, i) => text + (parts[i] ?? '')).join(''));
}

export const nothing = new Html('');

export function option(value: string, label: string, isSelected: boolean): Html {
  return html`<option value="${value}"${isSelected ? html` selected` : nothing}>${label}</option>`;
}
