/** One message is rendered for every medium. */
import { describe, expect, it } from 'vitest';
import type { MessageContent } from '../../src/core/render/render.ts';
import { failureOf, render } from '../support/render.ts';

const receipt: MessageContent = {
  subject: 'Order {{ order.id }} is paid',
  body: `# Thank you, {{ user.first_name }}!

Your order **{{ order.id }}** of {{ order.at | date: "%A, %-d %B %H:%M" }} is *paid*.
Not \`{{ order.old }}\` but ~~less~~ more.

| Item | Price |
|:-----|------:|
{% for item in order.items %}| {{ item.name }} | {{ item.price }} |
{% endfor %}
**[View it](https://shop.test/orders/{{ order.id }})**

> {{ order.note }}

1. Pack
   - with care
2. Send

- [x] paid
- [ ] sent

\`\`\`
code {{ order.id }}
\`\`\`

See [help](https://shop.test/help?o={{ order.id }}) or <help@shop.test>.
`,
};
const scope = {
  now: '2026-05-04T10:00:00Z',
  user: { first_name: 'Jané', timezone: 'Europe/Berlin' },
  order: {
    id: 'A/1',
    at: '2026-05-03T23:30:00Z',
    old: '1.00',
    note: 'Ring twice\nplease & <thanks>',
    items: [
      { name: 'Brass bell', price: '39.90 €' },
      { name: 'Rope', price: '4.50 €' },
    ],
  },
};

describe('one message', () => {
  it('is rendered as readable plain text', () => {
    const { title, text, missing } = render(receipt, { scope });
    expect(title).toBe('Order A/1 is paid');
    expect(missing).toEqual([]);
    expect(text).toBe(`Thank you, Jané!
================

Your order A/1 of Monday, 4 May 01:30 is paid.
Not 1.00 but less more.

Item          Price
----------  -------
Brass bell  39.90 €
Rope         4.50 €

View it (https://shop.test/orders/A/1)

> Ring twice
> please & <thanks>

1. Pack
   - with care
2. Send

- [x] paid
- [ ] sent

    code A/1

See help (https://shop.test/help?o=A%2F1) or help@shop.test.`);
  });

  it('is rendered as mrkdwn and blocks for Slack', () => {
    const { markup, card } = render(receipt, { medium: 'slack', scope });
    expect(markup).toBe(`*Thank you, Jané!*

Your order *A/1* of Monday, 4 May 01:30 is _paid_.
Not \`1.00\` but ~less~ more.

\`\`\`
Item          Price
----------  -------
Brass bell  39.90 €
Rope         4.50 €
\`\`\`

*<https://shop.test/orders/A/1|View it>*

> Ring twice
> please &amp; &lt;thanks&gt;

1. Pack
   • with care
2. Send

• ☑ paid
• ☐ sent

\`\`\`
code A/1
\`\`\`

See <https://shop.test/help?o=A%2F1|help> or <mailto:help@shop.test|help@shop.test>.`);
    const [{ type, elements }] = card as never as [{ type: string; elements: { type: string }[] }];
    expect(type).toBe('rich_text');
    expect(elements[0]).toEqual({
      type: 'rich_text_section',
      elements: [{ type: 'text', text: 'Order A/1 is paid\n', style: { bold: true } }],
    });
    expect(elements.map(element => element.type)).toEqual([
      'rich_text_section', // The title.
      'rich_text_section',
      'rich_text_section',
      'rich_text_preformatted',
      'rich_text_section',
      'rich_text_quote',
      'rich_text_list', // Pack,
      'rich_text_list', // with care,
      'rich_text_list', // and send.
      'rich_text_list',
      'rich_text_preformatted',
      'rich_text_section',
    ]);
    expect(elements[8]).toMatchObject({ style: 'ordered', offset: 1, indent: 0 });
  });

  it('prevents values from being read as markup in Slack, which has no escapes', () => {
    const { markup, card } = render('{{ v }}', { medium: 'slack', scope: { v: '*b* snake_case ~s~ `c`\n> q' } });
    const z = '\u200b';
    expect(markup).toBe(`${z}*${z}b${z}*${z} snake_case ${z}~${z}s${z}~${z} ${z}\`${z}c${z}\`${z}\n${z}&gt; q`);
    expect(card).toEqual([
      {
        type: 'rich_text',
        elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: '*b* snake_case ~s~ `c`\n> q' }] }],
      },
    ]);
  });

  it('replaces a bar in the label of a Slack link, which it would end', () => {
    const { markup } = render('[{{ v }}](https://a.test)', { medium: 'slack', scope: { v: 'a|b' } });
    expect(markup).toBe('<https://a.test|a¦b>');
  });

  it('does not nest quotes for Telegram, which refuses them', () => {
    expect(render('> a\n>\n> > b', { medium: 'telegram' }).markup).toBe('<blockquote>a\n\nb</blockquote>');
  });

  it('does not widen all rows of a table for one long value', () => {
    const { text } = render('|a|b|\n|-|-|\n|{{ v }}|x|\n|c|d|', { scope: { v: 'y'.repeat(1000) } });
    expect(text.split('\n').map(line => line.length)).toEqual([43, 43, 1003, 43]);
  });

  it('is rendered as Discord’s Markdown', () => {
    expect(render(receipt, { medium: 'discord', scope }).markup).toBe(`# Thank you, Jané!

Your order **A/1** of Monday, 4 May 01:30 is *paid*.
Not \`1.00\` but ~~less~~ more.

\`\`\`
Item          Price
----------  -------
Brass bell  39.90 €
Rope         4.50 €
\`\`\`

**[View it](https://shop.test/orders/A/1)**

> Ring twice
> please & \\<thanks\\>

1. Pack
   - with care
2. Send

- ☑ paid
- ☐ sent

\`\`\`
code A/1
\`\`\`

See [help](https://shop.test/help?o=A%2F1) or help@shop.test.`);
  });

  it('is rendered as the HTML that Telegram supports', () => {
    expect(render(receipt, { medium: 'telegram', scope }).markup).toBe(`<b>Thank you, Jané!</b>

Your order <b>A/1</b> of Monday, 4 May 01:30 is <i>paid</i>.
Not <code>1.00</code> but <s>less</s> more.

<pre>Item          Price
----------  -------
Brass bell  39.90 €
Rope         4.50 €</pre>

<b><a href="https://shop.test/orders/A/1">View it</a></b>

<blockquote>Ring twice
please &amp; &lt;thanks&gt;</blockquote>

1. Pack
   • with care
2. Send

• ☑ paid
• ☐ sent

<pre>code A/1</pre>

See <a href="https://shop.test/help?o=A%2F1">help</a> or <a href="mailto:help@shop.test">help@shop.test</a>.`);
  });

  it('is rendered as an Adaptive Card for Teams, with its button as an action', () => {
    const { card } = render(receipt, { medium: 'teams', scope });
    const { body, ...rest } = card as never as { body: { type: string }[] };
    expect(rest).toMatchObject({
      type: 'AdaptiveCard',
      version: '1.5',
      actions: [{ type: 'Action.OpenUrl', title: 'View it', url: 'https://shop.test/orders/A/1' }],
    });
    expect(body[0]).toEqual({
      type: 'RichTextBlock',
      inlines: [{ type: 'TextRun', text: 'Order A/1 is paid', size: 'Large', weight: 'Bolder' }],
    });
    expect(body[2]).toMatchObject({
      inlines: [
        { text: 'Your order ' },
        { text: 'A/1', weight: 'Bolder' },
        { text: ' of Monday, 4 May 01:30 is ' },
        { text: 'paid', italic: true },
        { text: '.\nNot ' },
        { text: '1.00', fontType: 'Monospace' },
        { text: ' but ' },
        { text: 'less', strikethrough: true },
        { text: ' more.' },
      ],
    });
    expect(body.map(({ type }) => type)).toEqual([
      ...['RichTextBlock', 'RichTextBlock', 'RichTextBlock', 'Table', 'Container'],
      ...['ColumnSet', 'ColumnSet', 'ColumnSet', 'ColumnSet', 'RichTextBlock', 'RichTextBlock'],
    ]);
  });

  it('is rendered as an HTML document for email, with a preview, a language and a text part', () => {
    const { html = '', text } = render(receipt, { medium: 'email', locale: 'ar-EG', scope });
    expect(html).toMatch(/^<!doctype html>\n<html lang="ar-EG" dir="rtl">/);
    expect(html).toContain('<title>Order A/1 is paid</title>');
    expect(html).toMatch(/<div style="display:none[^>]*>Your order A\/1 of .* is paid\. Not 1\.00 but less more\./);
    expect(html).toContain('<strong>A/1</strong>');
    expect(html).toMatch(/<td class="button"[^>]*><a href="https:\/\/shop\.test\/orders\/A\/1"/);
    expect(html).toContain('Ring twice<br>please &amp; &lt;thanks&gt;');
    expect(html).toMatch(/<th class="cell" align="right"[^>]*>Price<\/th>/);
    expect(html).toContain('prefers-color-scheme:dark');
    expect(text).toContain('View it (https://shop.test/orders/A/1)');
  });

  it('is rendered as title and text for a webhook, unless its author wrote JSON', () => {
    const content = {
      subject: 'Order {{ id }}',
      body: 'Order **{{ id }}**',
      overrides: {
        hooks: { body: '{"order": "{{ id }}", "n": {{ n }}, "tags": {{ tags | json }}, "none": {{ nothing }}}' },
      },
    };
    const scope = { id: 'a "b"\n\\', n: 3, tags: ['x', 'y'] };
    const given = (channel: string) => render(content, { medium: 'webhook', channel, scope }).data;
    expect(given('other')).toEqual({ title: 'Order a "b" \\', text: 'Order a "b"\n\\' });
    expect(given('hooks')).toEqual({ order: 'a "b"\n\\', n: 3, tags: ['x', 'y'], none: null });
  });

  it('recognizes the quotes of its JSON', () => {
    const content = { body: 'x', overrides: { webhook: { body: '{"a": "\\\\\\"{{ v }}\\"", "b": {{ v }}}' } } };
    const { data } = render(content, { medium: 'webhook', scope: { v: 'q"' } });
    expect(data).toEqual({ a: '\\"q""', b: 'q"' });
  });

  it('fails if the JSON of a webhook is invalid', () => {
    const content = { body: 'x', overrides: { webhook: { body: '{"a": {{ a }}{{ a }}}' } } };
    const error = failureOf(() => render(content, { medium: 'webhook', scope: { a: 1.5 } }));
    expect(error).toMatchObject({
      code: 'template.failed',
      message: expect.stringContaining('overrides/webhook/body'),
    });
  });

  it('uses its first line as the title if it has no subject', () => {
    expect(render('# Hello {{ x }}\n\nmore', { scope: { x: 'you' } }).title).toBe('Hello you');
    expect(render({ subject: 'a\r\nBcc: b\tc\u0000\u2028d', body: 'x' }).title).toBe('a Bcc: b c d');
  });

  it('shows HTML in its Markdown as text', () => {
    const { html, text } = render('<b>a</b> &amp; &euro; &eacute; &none;\n\n<div onclick="x">\n**b**\n</div>', {
      medium: 'email',
    });
    expect(html).toContain('&lt;b&gt;a&lt;/b&gt; &amp; € é &amp;none;');
    expect(html).toContain('&lt;div onclick=&quot;x&quot;&gt;<br><strong>b</strong></p>');
    expect(text).toBe('<b>a</b> & € é &none;\n\n<div onclick="x">\nb\n\n</div>');
  });
});
