import { describe, expect, it } from 'vitest';
import { AppError } from '../src/core/errors.ts';
import {
  compileLayout,
  compileMessage,
  findTemplateMistakes,
  type MessageContent,
  type RenderOptions,
  renderMessage,
} from '../src/core/render.ts';
import { countSegments } from '../src/core/sms.ts';

function render(content: MessageContent | string, options: Partial<RenderOptions> = {}) {
  const message = compileMessage(typeof content === 'string' ? { body: content } : content);
  return renderMessage(message, { medium: 'inbox', channel: 'some', scope: {}, ...options });
}

function failureOf(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

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
  it('is plain text that reads as if typed', () => {
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

  it('is mrkdwn and blocks for Slack', () => {
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

  it('keeps the signs of a value from counting in Slack, which has no way to escape them', () => {
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

  it('keeps a bar from ending the label of a link in Slack', () => {
    const { markup } = render('[{{ v }}](https://a.test)', { medium: 'slack', scope: { v: 'a|b' } });
    expect(markup).toBe('<https://a.test|a¦b>');
  });

  it('puts no quote into a quote for Telegram, which refuses that', () => {
    expect(render('> a\n>\n> > b', { medium: 'telegram' }).markup).toBe('<blockquote>a\n\nb</blockquote>');
  });

  it('does not widen every row of a table for one long value', () => {
    const { text } = render('|a|b|\n|-|-|\n|{{ v }}|x|\n|c|d|', { scope: { v: 'y'.repeat(1000) } });
    expect(text.split('\n').map(line => line.length)).toEqual([43, 43, 1003, 43]);
  });

  it('is Markdown of its own kind for Discord', () => {
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

  it('is the HTML that Telegram knows', () => {
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

  it('is an Adaptive Card for Teams, its button an action', () => {
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

  it('is a whole HTML document for email, with a preview, a language and a text beside it', () => {
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

  it('is title and text for a webhook, unless its author wrote JSON', () => {
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

  it('knows where the quotes of its JSON begin and end', () => {
    const content = { body: 'x', overrides: { webhook: { body: '{"a": "\\\\\\"{{ v }}\\"", "b": {{ v }}}' } } };
    const { data } = render(content, { medium: 'webhook', scope: { v: 'q"' } });
    expect(data).toEqual({ a: '\\"q""', b: 'q"' });
  });

  it('fails when a webhook asked for JSON and none comes out', () => {
    const content = { body: 'x', overrides: { webhook: { body: '{"a": {{ a }}{{ a }}}' } } };
    const error = failureOf(() => render(content, { medium: 'webhook', scope: { a: 1.5 } }));
    expect(error).toMatchObject({
      code: 'template.failed',
      message: expect.stringContaining('overrides/webhook/body'),
    });
  });

  it('takes its title from its first line when it has no subject', () => {
    expect(render('# Hello {{ x }}\n\nmore', { scope: { x: 'you' } }).title).toBe('Hello you');
    expect(render({ subject: 'a\r\nBcc: b\tc\u0000\u2028d', body: 'x' }).title).toBe('a Bcc: b c d');
  });

  it('shows HTML that stands in its Markdown as text', () => {
    const { html, text } = render('<b>a</b> &amp; &euro;\n\n<div onclick="x">\n**b**\n</div>', { medium: 'email' });
    expect(html).toContain('&lt;b&gt;a&lt;/b&gt; &amp; €');
    expect(html).toContain('&lt;div onclick=&quot;x&quot;&gt;<br><strong>b</strong></p>');
    expect(text).toBe('<b>a</b> & €\n\n<div onclick="x">\nb\n\n</div>');
  });
});

describe('links', () => {
  const urlOf = (body: string, scope: Record<string, unknown>) =>
    /href="(https?:[^"]*|mailto:[^"]*|tel:[^"]*)"/i.exec(render(body, { medium: 'telegram', scope }).markup!)?.[1];

  it.each([
    ['[a]({{ v }})', 'https://a.test/x?y=1&z=ä', 'https://a.test/x?y=1&amp;z=%C3%A4'],
    ['[a]({{ v }})', 'HTTPS://a.test', 'HTTPS://a.test'],
    ['[a]({{ v }})', 'javascript:alert(1)', undefined],
    ['[a]({{ v }})', ' java\nscript:alert(1)', undefined],
    ['[a]({{ v }})', 'data:text/html,x', undefined],
    ['[a]({{ v }})', '//evil.test', undefined],
    ['[a]({{ v }})', '/relative', undefined],
    ['[a]({{ v }})', 'https://a.test/"onclick="x', 'https://a.test/%22onclick=%22x'],
    ['[a]({{ v }})', 'mailto:a@b.test', 'mailto:a@b.test'],
    ['[a]({{ v }}/o/1)', 'https://a.test', 'https://a.test/o/1'],
    ['[a](javascript:{{ v }})', 'x', undefined],
    ['[a](https://a.test/{{ v }}/c)', 'org/repo', 'https://a.test/org/repo/c'],
    ['[a](https://a.test/{{ v }}/c)', '../../b?x#y', 'https://a.test///b%3Fx%23y/c'],
    ['[a](https://a.test{{ v }})', '/p/q', 'https://a.test/p/q'],
    ['[a](https://a.test{{ v }})', '@evil.test', 'https://a.test%40evil.test'],
    ['[a](https://a.test/?q={{ v }})', 'a&b=c/d', 'https://a.test/?q=a%26b%3Dc%2Fd'],
    ['[a](https://a.test/?q={{ v | url_encode }})', 'a b', 'https://a.test/?q=a%20b'],
    ['[a](tel:{{ v }})', 'x', undefined],
    ['[a](tel:+{{ v }})', '123', 'tel:+123'],
    ['https://a.test/{{ v }}', 'x y', 'https://a.test/x%20y'],
  ])('%s with %j leads to %s', (body, v, url) => {
    expect(urlOf(body, { v })).toBe(url);
  });
});

it('escapes an address once more where it stands in HTML', () => {
  const { html } = render('[a](https://a.test/?b={{ v }}&c=1)', { medium: 'email', scope: { v: 1 } });
  expect(html).toContain('href="https://a.test/?b=1&amp;c=1"');
});

describe('variables', () => {
  it('that are missing are named and come out empty', () => {
    const { text, missing } = render('a{{ order.total }}b{{ x }}{% for i in rows %}{% endfor %}', {
      scope: { order: {} },
    });
    expect(text).toBe('ab');
    expect(missing).toEqual(['order.total', 'x', 'rows']);
  });

  it('may be missing in a condition and before a default', () => {
    const body =
      '{% if a.b %}x{% elsif c == 1 %}y{% endif %}{% unless d %}z{% endunless %}{{ e | default: "f" }}{{ null }}';
    expect(render(body, { scope: { null: null } })).toMatchObject({ text: 'zf', missing: [] });
  });

  it('that are missing fail a strict message', () => {
    const content = { subject: '{{ a }}', body: '{{ b.c }}', strict: true };
    expect(failureOf(() => render(content))).toMatchObject({
      code: 'template.failed',
      message: 'the context lacks a, b.c',
    });
    expect(render(content, { scope: { a: 1, b: { c: 2 } } }).text).toBe('2');
  });

  it('are only what the context itself holds', () => {
    const body = '{{ constructor }}{{ a.constructor }}{{ a.__proto__ }}{{ a.toString }}{{ b.length }}{{ c.size }}';
    expect(render(body, { scope: { a: {}, b: 'x', c: [1, 2] } }).text).toBe('12');
  });

  it('that were captured keep the Markdown of their author', () => {
    const body = '{% capture x %}**{{ v }}**{% endcapture %}{{ x }} and {{ x | upcase }}';
    expect(render(body, { medium: 'telegram', scope: { v: 'a*b' } }).markup).toBe('<b>a*b</b> and **A*B**');
  });

  it('of time are told in the zone and language of the recipient', () => {
    const body = '{{ at | date: "%A %H:%M" }} / {{ "now" | date }} / {{ at | date: "%H:%M", "Asia/Tokyo" }}';
    const scope = { at: '2026-01-01T23:30:00Z', now: '2026-02-03T04:05:06Z' };
    expect(render(body, { scope }).text).toBe('Thursday 23:30 / 2026-02-03 04:05 / 08:30');
    expect(render(body, { locale: 'fr', scope: { ...scope, user: { timezone: 'Europe/Paris' } } }).text).toBe(
      'vendredi 00:30 / 2026-02-03 05:05 / 08:30',
    );
    expect(render(body, { locale: '?!', scope: { ...scope, user: { timezone: 'Mars/Base' } } }).text).toMatch(
      /^Thursday/,
    );
  });
});

describe('the words', () => {
  const content: MessageContent = {
    subject: 'subject',
    body: 'body {{ "2026-01-01" | date: "%A" }}',
    locales: { pt: { subject: 'pt', body: 'corpo {{ "2026-01-01" | date: "%A" }}' }, 'pt-BR': { subject: 'br' } },
    overrides: { sms: { body: 'short' }, pager: { subject: 'P', locales: { pt: { body: 'curto' } } } },
  };
  it.each([
    [undefined, 'inbox', 'mail', 'subject', 'body Thursday'],
    ['de', 'inbox', 'mail', 'subject', 'body Thursday'],
    ['pt', 'inbox', 'mail', 'pt', 'corpo quinta-feira'],
    ['pt-PT', 'inbox', 'mail', 'pt', 'corpo quinta-feira'],
    ['pt_br', 'inbox', 'mail', 'br', 'corpo quinta-feira'],
    ['pt', 'sms', 'mail', 'pt', 'short'],
    ['pt', 'sms', 'pager', 'P', 'curto'],
    ['en', 'sms', 'pager', 'P', 'short'],
  ])('for %s by %s over %s are %s and %s', (locale, medium, channel, title, text) => {
    expect(render(content, { locale, medium, channel })).toMatchObject({ title, text });
  });
});

describe('a mistake in a template', () => {
  it('is named with its field, line and column, and so are all the others', () => {
    const content: MessageContent = {
      subject: '{{ a | shout }}',
      body: 'fine\n  {% include "x" %}',
      locales: { de: { body: '{% if a %}' } },
      overrides: { hooks: { body: '{{ a' } },
    };
    expect(findTemplateMistakes(content)).toEqual([
      { field: 'subject', line: 1, column: 1, message: 'there is no filter "shout"' },
      { field: 'body', line: 2, column: 3, message: 'there is no tag "include"' },
      { field: 'locales/de/body', line: 1, column: 1, message: 'tag {% if a %} not closed' },
      { field: 'overrides/hooks/body', line: 1, column: 1, message: 'output "{{ a" not closed' },
    ]);
    const error = failureOf(() => compileMessage(content));
    expect(error.code).toBe('template.invalid');
    expect(error.details.fields?.body).toEqual(['line 2, column 3: there is no tag "include"']);
  });

  it.each(['raw', 'sample', 'constructor', 'valueOf', '__proto__', 'where_exp', 'newline_to_br'])(
    'may be the filter %s',
    name => {
      expect(findTemplateMistakes({ body: `{{ a | ${name} }}` })).toHaveLength(1);
    },
  );
  it.each(['render "x"', 'layout "x"', 'block x', 'tablerow x in y', 'increment x', 'constructor'])(
    'may be the tag %s',
    tag => {
      expect(findTemplateMistakes({ body: `{% ${tag} %}` })).toHaveLength(1);
    },
  );
});

describe('a layout', () => {
  const html = (layout: string, scope: Record<string, unknown>) =>
    render({ subject: '<T>', body: '**b**' }, { medium: 'email', scope, layout: compileLayout(layout) }).html;

  it('holds the content as it is and everything else escaped for its place', () => {
    const layout =
      '<i title={{ v }}><a href="{{ v }}" title="{{ v }}">{{ v }}</a></i><h1>{{ title }}</h1>{{ content }}';
    expect(html(layout, { v: 'x" onload=1' })).toBe(
      '<i title=x&#34;&#32;onload&#61;1><a href="#" title="x&quot; onload=1">x&quot; onload=1</a></i>' +
        '<h1>&lt;T&gt;</h1><p style="margin:0"><strong>b</strong></p>\n',
    );
    expect(html('<a href="{{ v }}">{{ content }}', { v: 'https://a.test/?a&b' })).toContain(
      'href="https://a.test/?a&amp;b"',
    );
  });

  it('without a place for the content is refused', () => {
    expect(failureOf(() => compileLayout('<p>'))).toMatchObject({ code: 'template.invalid' });
  });
});

describe('an SMS', () => {
  it.each([
    ['', 1],
    ['a'.repeat(160), 1],
    ['a'.repeat(161), 2],
    ['a'.repeat(306), 2],
    ['a'.repeat(307), 3],
    ['€'.repeat(80), 1],
    ['€'.repeat(81), 2],
    // The escape and its character stay together, so a segment of 153 holds 76 of them.
    ['€'.repeat(152), 2],
    ['€'.repeat(153), 3],
    ['ž'.repeat(70), 1],
    ['ž'.repeat(71), 2],
    ['ž'.repeat(134), 2],
    ['ž'.repeat(135), 3],
    // Neither are the halves of a character parted: 33 of them in a segment of 67.
    ['🔔'.repeat(35), 1],
    ['🔔'.repeat(66), 2],
    ['🔔'.repeat(67), 3],
  ])('of %j takes %i', (text, segments) => {
    expect(countSegments(text)).toBe(segments);
  });

  it('is counted as it is sent', () => {
    expect(render('{{ a }}', { medium: 'sms', scope: { a: 'x'.repeat(200) } }).segments).toBe(2);
  });
});
