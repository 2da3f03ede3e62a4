/** Mistakes in templates, layouts, and the segments of an SMS. */
import { describe, expect, it } from 'vitest';
import { findMentionedSchedules } from '../../src/core/render/on-call.ts';
import {
  compileLayout,
  compileMessage,
  findTemplateMistakes,
  type MessageContent,
} from '../../src/core/render/render.ts';
import { countSegments } from '../../src/core/render/sms.ts';
import { failureOf, render } from '../support/render.ts';

describe('a mistake in a template', () => {
  it('is reported with its field, line and column, together with all others', () => {
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
    'is the filter %s, which is not available',
    name => {
      expect(findTemplateMistakes({ body: `{{ a | ${name} }}` })).toHaveLength(1);
    },
  );
  it.each(['render "x"', 'layout "x"', 'block x', 'tablerow x in y', 'increment x', 'constructor'])(
    'is the tag %s, which is not available',
    tag => {
      expect(findTemplateMistakes({ body: `{% ${tag} %}` })).toHaveLength(1);
    },
  );
});

describe('a layout', () => {
  const html = (layout: string, scope: Record<string, unknown>) =>
    render({ subject: '<T>', body: '**b**' }, { medium: 'email', scope, layout: compileLayout(layout) }).html;

  it('contains the content unchanged and escapes all other values for their position', () => {
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

  it('is refused without {{ content }}', () => {
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
    // An escape and its character are never split, so a segment of 153 contains 76 of them.
    ['€'.repeat(152), 2],
    ['€'.repeat(153), 3],
    ['ž'.repeat(70), 1],
    ['ž'.repeat(71), 2],
    ['ž'.repeat(134), 2],
    ['ž'.repeat(135), 3],
    // Surrogate pairs are not split either: a segment of 67 contains 33 of them.
    ['🔔'.repeat(35), 1],
    ['🔔'.repeat(66), 2],
    ['🔔'.repeat(67), 3],
  ])('of %j takes %i', (text, segments) => {
    expect(countSegments(text)).toBe(segments);
  });

  it('has its segments counted from the rendered text', () => {
    expect(render('{{ a }}', { medium: 'sms', scope: { a: 'x'.repeat(200) } }).segments).toBe(2);
  });
});

describe('who is on call', () => {
  const person = (name: string) => ({ name, username: `${name}@x.test`, first_name: name, last_name: '' });
  const oncall = {
    primary: { name: 'Primary', users: [person('Ann'), person('Bob')], until: null, next: null },
    'team-a': { name: 'A', users: [], until: null, next: { from: '2027-01-05T09:00:00.000Z', users: [person('Eve')] } },
  };
  it.each([
    ['{{ oncall.primary }}', 'Ann, Bob'],
    ['{{ oncall.primary | upcase }}', 'ANN, BOB'],
    ['{% assign now = oncall.primary %}{{ now }}', 'Ann, Bob'],
    ['{% for user in oncall.primary.users %}{{ user.username }} {% endfor %}', 'Ann@x.test Bob@x.test'],
    ['{{ oncall["team-a"].next }} {{ oncall.team-a.next.from | date: "%H:%M" }}', 'Eve 09:00'],
    ['[{{ oncall["team-a"] }}] {{ oncall.team-a | default: "none" }}', '[] '],
  ])('%s is rendered as %s', (body, text) => {
    expect(render(body, { scope: { oncall } }).text).toBe(text.trim());
  });
  it('is read for the schedules that a template names', () => {
    const source = `{{ oncall.primary }} {{ oncall['team-a'].until }} {{ oncall.x.users[0] }} {{ oncall[slug] }} {{ on.oncall }}`;
    expect(findMentionedSchedules(source)).toEqual(['primary', 'team-a', 'x']);
    expect(findMentionedSchedules(JSON.stringify('{{ oncall["team-b"] }}'))).toEqual(['team-b']);
    expect(findMentionedSchedules('{{ user.name }}')).toEqual([]);
  });
});
