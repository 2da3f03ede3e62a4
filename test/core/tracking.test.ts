import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTrackingToken, signTrackingToken, trackHtml, trackingLimits } from '../../src/core/feedback/tracking.ts';
import { uuidv7 } from '../../src/core/ids.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { createTracking } from '../../src/pipeline/message-links.ts';

const pixel = '<img src="PIXEL" width="1" height="1" alt="" style="border:0;width:1px;height:1px">';

/** Rewrites with `T1`, `T2` … in the order of their first use, and returns the targets. */
function track(html: string) {
  const targets: string[] = [];
  const linkFor = (target: string) => `T${targets.push(target)}`;
  return { html: trackHtml(html, { linkFor, pixelUrl: 'PIXEL' }).replace(pixel, ''), targets };
}

describe('Rewriting', () => {
  test.for([
    ['<a href="https://x.test/a?b=1#c">x</a>', '<a href="T1">x</a>', 'https://x.test/a?b=1#c'],
    ['<a href="https://x.test/?a=1&amp;b=&#39;2&#x27;">x</a>', '<a href="T1">x</a>', "https://x.test/?a=1&b='2'"],
    ['<a href="https://x.test/?a=1&copy=2&utm_source=m">', '<a href="T1">', 'https://x.test/?a=1&copy=2&utm_source=m'],
    [
      '<A class=b HREF = \'HTTPS://X.test/A\' id="c">x</A>',
      '<A class=b HREF = \'T1\' id="c">x</A>',
      'HTTPS://X.test/A',
    ],
    ['<a href=http://x.test/a/ >x</a>', '<a href=T1 >x</a>', 'http://x.test/a/'],
    ['<a\n  title="a > b"\n  href=" https://x.test "\n/>', '<a\n  title="a > b"\n  href="T1"\n/>', 'https://x.test'],
    ['<map><area href="https://x.test/"></map>', '<map><area href="T1"></map>', 'https://x.test/'],
    ['<a href="https://a.test" href="https://b.test">', '<a href="T1" href="https://b.test">', 'https://a.test'],
    [
      '<!--[if !mso]><!--><a href="https://x.test"><!--<![endif]-->',
      '<!--[if !mso]><!--><a href="T1"><!--<![endif]-->',
      'https://x.test',
    ],
  ] as const)('follows the syntax of HTML: %s', ([html, expected, target]) => {
    expect(track(html)).toEqual({ html: expected, targets: [target] });
  });

  test.for([
    '<a href="mailto:a@x.test">x</a><a href="tel:+1">x</a><a href="javascript:x">x</a><a href="#top">x</a><a href>x</a>',
    '<a href="/a">x</a><a href="//x.test/a">x</a><a href="https://">x</a><a href="https:/x.test">x</a>',
    '<a href="https://x.test" data-no-track>x</a><a DATA-NO-TRACK="" href="https://x.test">x</a>',
    '<a data-href="https://x.test">x</a><img src="https://x.test/a.png"><link href="https://x.test/a.css">',
    '<p>https://x.test &lt;a href="https://x.test"&gt;</p><img alt=\'<a href="https://x.test">\'>',
    '<!-- <a href="https://x.test"> --><style><a href="https://x.test"></style><title><a href="https://x.test"></title>',
    '<a href="https://x.test/é">x</a><a href="https://x.test/a b">x</a><a href="https://x.test/&eacute;">x</a>',
    `<a href="https://x.test/${'a'.repeat(trackingLimits.target)}">x</a>`,
    '<a href="https://x.test',
    '<!-- <a href="https://x.test">',
    '<style><a href="https://x.test">',
  ])('leaves everything else as it is, case %#', html => {
    expect(track(html)).toEqual({ html, targets: [] });
  });

  test('gives the same link one token, however often it occurs, and tracks a limited number of links', () => {
    const links = Array.from({ length: trackingLimits.links + 5 }, (_, i) => `<a href="https://x.test/${i}">`);
    const { html, targets } = track([...links, ...links].join(''));
    expect(targets).toHaveLength(trackingLimits.links);
    expect(html.match(/href="T1"/g)).toHaveLength(2);
    expect(html.match(/href="https:/g)).toHaveLength(10);
  });

  test('adds the picture at the end of the body, else of the document', () => {
    const add = (html: string) => trackHtml(html, { linkFor: () => 'T', pixelUrl: 'PIXEL' });
    expect(add('<p>a</p>')).toBe(`<p>a</p>${pixel}`);
    expect(add('<BODY><a href="https://x.test">b</a></BODY></html>')).toBe(
      `<BODY><a href="T">b</a>${pixel}</BODY></html>`,
    );
    expect(add('<body><!-- </body> --></body>\n')).toBe(`<body><!-- </body> -->${pixel}</body>\n`);
  });

  test('changes nothing but the values of href, and reads hostile markup in linear time', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '"',
      "'",
      '<a ',
      '<!--',
      '-->',
      '<style',
      '</style>',
      ' href=',
      '=',
      '/',
      'x',
      '&',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), pieces => {
        const html = pieces.join('');
        expect(track(html)).toEqual({ html, targets: [] });
      }),
    );
    for (const part of [
      '<a ',
      '<!--',
      '<a href="',
      '<style>',
      '<a x=',
      '<a  ',
      "<a href='https://x.test'\n",
      '</',
      '<a =',
    ]) {
      const html = part.repeat(Math.floor(trackingLimits.document / part.length));
      track(html);
    }
  });

  test("leaves Belfry's own links as they are, so that nothing is rewritten twice", () => {
    const base = 'https://belfry.example.com';
    const mail = createTracking(createSigner('a secret of at least 32 characters'), base)!;
    const delivery = { organizationId: 1, occurrence: uuidv7(0), id: 1 };
    const own = ['unsubscribe', 'preferences', 'acknowledge']
      .map(page => `<a href="${base}/${page}/1.2.3">x</a>`)
      .join('');
    const once = mail(delivery, `${own}<a href="https://x.test">x</a><a href="${base}/docs">x</a>`);
    expect(once.startsWith(`${own}<a href="${base}/t/`)).toBe(true);
    expect(once.match(/\/t\//g)).toHaveLength(3);
    expect(mail(delivery, once).replace(/<img[^>]*>/, '')).toBe(once);
  });

  test('needs the public address', () => {
    expect(createTracking(createSigner('a secret of at least 32 characters'), undefined)).toBeUndefined();
  });
});

describe('Tokens', () => {
  const signer = createSigner('a secret of at least 32 characters');
  const delivery = { organizationId: 60_000_000, occurrence: uuidv7(2 ** 48 - 1), id: 2_000_000_000_000 };
  const sign = (target: string | undefined) => signTrackingToken({ ...delivery, target }, signer.signShort);
  const read = (token: string) => readTrackingToken(token, signer.isSignedShort);

  test('lead to the delivery and to the exact URL', { tags: ['sweep'] }, () => {
    const urls = fc
      .webUrl({ withFragments: true, withQueryParameters: true })
      .filter(url => /^[\x21-\x7e]+$/.test(url));
    fc.assert(
      fc.property(urls, target => {
        expect(read(sign(target))).toEqual({ ...delivery, target });
      }),
    );
    expect(read(sign(undefined))).toEqual({ ...delivery, target: undefined });
    expect(sign(`https://x.test/${'a'.repeat(trackingLimits.target - 15)}`).length).toBeLessThan(2_300);
  });

  test('are refused after any change, with another key, and for another purpose', () => {
    const token = sign('https://x.test/a');
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...'0az-_.A', ''), (at, character) => {
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        if (changed !== token) expect(read(changed)).toBeUndefined();
      }),
    );
    const [name, target, signature] = token.split('.') as [string, string, string];
    const evil = Buffer.from('https://evil.test').toString('base64url');
    for (const forged of [`${name}.${evil}.${signature}`, `${name}.${signature}`, `${name}.${target}`, evil, '']) {
      expect(read(forged)).toBeUndefined();
    }
    expect(read(`${name}.${target}.${signer.signShort(`${name}.${target}`, 'return path')}`)).toBeUndefined();
    expect(read(`${name}.${target}.${signer.signShort(`${name}.${target}`, 'tracked open')}`)).toBeUndefined();
    const other = createSigner('another secret of 32 characters!');
    expect(readTrackingToken(token, other.isSignedShort)).toBeUndefined();
  });

  test('never lead to anything but http and https, even if it was signed', () => {
    for (const target of [
      'javascript:alert(1)',
      'data:text/html,x',
      '//evil.test',
      '/a',
      'https://x.test/\r\na: b',
      'ftp://x.test',
    ]) {
      expect(read(sign(target))).toBeUndefined();
    }
  });
});
