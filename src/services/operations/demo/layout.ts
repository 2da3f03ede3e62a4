/** The layout of the demo's emails: tables and inline styles for old clients, and dark colors for those that have a dark mode. */
export const demoBrand = '#0b7285';

const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

const dark = [
  '.page{background:#0e1416 !important}',
  '.sheet,.sheet p,.sheet li{background:#172024 !important;color:#dfe7ea !important}',
  '.sheet .heading{color:#ffffff !important}',
  '.sheet .link{color:#66d9e8 !important}',
  '.sheet .button{background:#1098ad !important}',
  '.footer,.footer a{color:#8fa1a8 !important}',
  '.around-sheet{border-color:#2a363b !important}',
];

export const demoLayout = `<!doctype html>
<html lang="{{ lang }}" dir="{{ dir }}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>{{ title }}</title>
<style>
:root{color-scheme:light dark;supported-color-schemes:light dark}
.sheet .button{background:${demoBrand} !important;border-radius:8px !important}
.sheet .link{color:${demoBrand}}
@media (max-width:520px){.around{padding:0 !important}.around-sheet{border-radius:0 !important;border-left:0 !important;border-right:0 !important}.sheet{padding:28px 22px 26px !important}.brand{padding:18px 22px !important;border-radius:0 !important}}
@media (prefers-color-scheme:dark){${dark.join('')}}
${dark.map(rule => rule.replaceAll(/(^|,)\./g, '$1[data-ogsc] .')).join('')}
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#eef3f4">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">{{ preheader }}</div>
<table role="presentation" class="page" cellpadding="0" cellspacing="0" border="0" width="100%" style="background:#eef3f4">
<tr>
<td class="around" align="center" style="padding:36px 12px">
<!--[if mso]><table role="presentation" cellpadding="0" cellspacing="0" border="0" width="560"><tr><td><![endif]-->
<table role="presentation" class="around-sheet" cellpadding="0" cellspacing="0" border="0" width="100%" style="max-width:560px;border:1px solid #d8e2e5;border-radius:12px;border-collapse:separate;overflow:hidden">
<tr>
<td class="brand" bgcolor="${demoBrand}" style="padding:20px 36px;background:${demoBrand};border-radius:11px 11px 0 0;${font};font-size:18px;font-weight:700;letter-spacing:.02em;color:#ffffff">
<span style="display:inline-block;width:12px;height:12px;margin-right:10px;border-radius:6px;background:#ffd43b"></span>{{ project.name }}
</td>
</tr>
<tr>
<td class="sheet" style="padding:34px 36px 32px;background:#ffffff;border-radius:0 0 11px 11px;${font};font-size:16px;line-height:1.6;color:#263238;word-break:break-word">
{{ content }}
</td>
</tr>
</table>
<table role="presentation" cellpadding="0" cellspacing="0" border="0" width="100%" style="max-width:560px">
<tr>
<td class="footer" align="center" style="padding:20px 16px;${font};font-size:13px;line-height:1.6;color:#566a71">
{{ project.name }} is the sample shop of Belfry’s demo. Nothing was ordered, and no mail was sent.
{%- if unsubscribe_url != '' and preferences_url != '' %}<br>
<a href="{{ unsubscribe_url }}" style="color:#566a71">{{ unsubscribe_label }}</a> &nbsp;&middot;&nbsp; <a href="{{ preferences_url }}" style="color:#566a71">{{ preferences_label }}</a>
{%- endif %}
</td>
</tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td>
</tr>
</table>
</body>
</html>
`;
