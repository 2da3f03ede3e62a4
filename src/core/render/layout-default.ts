/**
 * The default layout of emails: at most 600 px wide, built from tables for the clients that support nothing else. Dark
 * colours are defined twice: for clients that follow the system's colour scheme, and for Outlook's own dark mode.
 */
const dark = {
  '.page': 'background:#0d1117 !important;color:#e6edf3 !important',
  '.sheet': 'background:#161b22 !important;border-color:#30363d !important',
  '.sheet, .sheet p, .sheet li, .sheet td': 'color:#e6edf3 !important',
  '.sheet .heading': 'color:#f0f6fc !important',
  '.sheet .link': 'color:#79b8ff !important',
  '.sheet .button': 'background:#2f6feb !important',
  '.sheet .button a': 'color:#ffffff !important',
  '.sheet .quote, .sheet .quote p': 'color:#9da7b3 !important;border-color:#3d444d !important',
  '.sheet .code': 'background:#262c36 !important;color:#e6edf3 !important',
  '.sheet .rule, .sheet .cell': 'border-color:#30363d !important',
  '.sheet th.cell': 'color:#9da7b3 !important',
  '.footer, .footer a': 'color:#9da7b3 !important',
};

const rules = Object.entries(dark).map(([selector, style]) => `${selector}{${style}}`);
const outlook = Object.entries(dark).map(
  ([selector, style]) =>
    `${selector
      .split(', ')
      .map(one => `[data-ogsc] ${one}`)
      .join(', ')}{${style}}`,
);

const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** Follows the preheader and keeps mail clients from filling the preview with the text after it. */
const blanks = '&#847;&zwnj;&nbsp;'.repeat(40);

export const defaultLayout = `<!doctype html>
<html lang="{{ lang }}" dir="{{ dir }}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="x-apple-disable-message-reformatting">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>{{ title }}</title>
<style>
:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (max-width:520px){.around{padding:0 !important}.sheet{padding:24px 20px !important;border-radius:0 !important;border-left:0 !important;border-right:0 !important}}
@media (prefers-color-scheme:dark){${rules.join('')}}
${outlook.join('')}
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f3f5f7;color:#1f2933;-webkit-text-size-adjust:100%">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">{{ preheader }}${blanks}</div>
<table role="presentation" class="page" cellpadding="0" cellspacing="0" border="0" width="100%" style="background:#f3f5f7">
<tr>
<td class="around" align="center" style="padding:32px 12px">
<!--[if mso]><table role="presentation" cellpadding="0" cellspacing="0" border="0" width="600"><tr><td><![endif]-->
<table role="presentation" cellpadding="0" cellspacing="0" border="0" width="100%" style="max-width:600px">
<tr>
<td class="sheet" style="padding:36px 40px;background:#ffffff;border:1px solid #e3e8ed;border-radius:10px;${font};font-size:16px;line-height:1.6;color:#1f2933;word-break:break-word">
{{ content }}
</td>
</tr>
{%- if unsubscribe_url != '' and preferences_url != '' %}
<tr>
<td class="footer" align="center" style="padding:20px 12px 0;${font};font-size:13px;line-height:1.6;color:#5b6673">
<a href="{{ unsubscribe_url }}" style="color:#5b6673">{{ unsubscribe_label }}</a> &nbsp;&middot;&nbsp; <a href="{{ preferences_url }}" style="color:#5b6673">{{ preferences_label }}</a>
</td>
</tr>
{%- endif %}
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td>
</tr>
</table>
</body>
</html>
`;
