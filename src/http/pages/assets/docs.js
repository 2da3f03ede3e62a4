// Features that would contact another host are off; the Content-Security-Policy blocks them as well.
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
