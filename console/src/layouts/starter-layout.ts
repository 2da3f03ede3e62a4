/** Initial HTML of a new layout: small, and compatible with all email clients. */
import { texts } from '../texts/layouts.ts';
export const starter = `<!doctype html>
<html lang="{{ lang }}" dir="{{ dir }}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{{ title }}</title>
</head>
<body style="margin:0;background:#f3f1ee;color:#1f1c1a;font-family:sans-serif">
<div style="display:none">{{ preheader }}</div>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0">
<tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:600px;background:#ffffff;border-radius:8px">
<tr><td style="padding:24px 32px 0;font-weight:bold">{{ organization.name }}</td></tr>
<tr><td style="padding:16px 32px 32px;line-height:1.6">
{{ content }}
</td></tr>
</table>
<p style="font-size:12px;color:#6b645d">You receive this email because you are a customer of {{ organization.name }}.</p>
</td></tr>
</table>
</body>
</html>
`;

export const sampleBody = texts.sampleBody;
