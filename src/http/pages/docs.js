// Everything that would speak to another host is off; the page's Content-Security-Policy forbids it besides.
Scalar.createApiReference('#app', {
  url: '/openapi.json',
  servers: [{ url: location.origin, description: 'This server' }],
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'direct',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  authentication: {
    preferredSecurityScheme: 'ApiKeyAuthentication',
    securitySchemes: { ApiKeyAuthentication: { value: 'Key <API_KEY>' } },
  },
});
