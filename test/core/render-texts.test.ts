/** Links, variables and translations of a message. */
import { describe, expect, it } from 'vitest';
import { compileMessage, type MessageContent, renderMessage } from '../../src/core/render/render.ts';
import { failureOf, render } from '../support/render.ts';

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

it('escapes a URL again in HTML', () => {
  const { html } = render('[a](https://a.test/?b={{ v }}&c=1)', { medium: 'email', scope: { v: 1 } });
  expect(html).toContain('href="https://a.test/?b=1&amp;c=1"');
});

describe('variables', () => {
  it('are reported and rendered empty if they are missing', () => {
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

  it('of a condition choose the text of each recipient, however many were rendered before', () => {
    const body =
      '{% if vip %}Dear {{ name | upcase }}{% if late %}, sorry{% endif %}{% elsif name %}Hi {{ name }}{% else %}Hi{% endif %}! {{ n }}';
    const message = compileMessage({ body });
    const textFor = (scope: Record<string, unknown>) =>
      renderMessage(message, { medium: 'inbox', channel: 'some', scope: { n: 7, ...scope } }).text;
    const everyone = () => [
      textFor({ vip: true, name: 'Ann', late: true }),
      textFor({ vip: true, name: 'Bob' }),
      textFor({ name: 'Cid' }),
      textFor({ name: null }),
    ];
    expect(everyone()).toEqual(['Dear ANN, sorry! 7', 'Dear BOB! 7', 'Hi Cid! 7', 'Hi! 7']);
    expect(everyone()).toEqual(['Dear ANN, sorry! 7', 'Dear BOB! 7', 'Hi Cid! 7', 'Hi! 7']);
  });

  it('fail a strict message if they are missing', () => {
    const content = { subject: '{{ a }}', body: '{{ b.c }}', strict: true };
    expect(failureOf(() => render(content))).toMatchObject({
      code: 'template.failed',
      message: 'the context lacks a, b.c',
    });
    expect(render(content, { scope: { a: 1, b: { c: 2 } } }).text).toBe('2');
  });

  it('are only own properties of the context', () => {
    const body = '{{ constructor }}{{ a.constructor }}{{ a.__proto__ }}{{ a.toString }}{{ b.length }}{{ c.size }}';
    expect(render(body, { scope: { a: {}, b: 'x', c: [1, 2] } }).text).toBe('12');
  });

  it('that were captured keep the author’s Markdown', () => {
    const body = '{% capture x %}**{{ v }}**{% endcapture %}{{ x }} and {{ x | upcase }}';
    expect(render(body, { medium: 'telegram', scope: { v: 'a*b' } }).markup).toBe('<b>a*b</b> and **A*B**');
  });

  it('that are times are formatted in the time zone and language of the recipient', () => {
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

describe('the templates', () => {
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
