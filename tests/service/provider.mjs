// A real OpenID provider on loopback: node-oidc-provider, with its own pages for signing in. Arguments: the folder
// that has it in node_modules, a port, and where it may send browsers of the console back to. Whoever gives a name is that person: no password is looked at.
import { createRequire } from 'node:module';
import { generateKeyPairSync } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const [folder, port, ...redirects] = process.argv.slice(2);
const require = createRequire(`${folder}/here.js`);
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));
const key = (kid) => ({ ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid, use: 'sig', alg: 'RS256' });
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  jwks: { keys: [key('first')] },
  cookies: { keys: ['only for tests'] },
  clients: [{
    client_id: 'leakcap-terminal', token_endpoint_auth_method: 'none', redirect_uris: [], response_types: [],
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
  }, {
    client_id: 'leakcap-console', token_endpoint_auth_method: 'client_secret_basic', client_secret: 'only for tests',
    redirect_uris: redirects, response_types: ['code'], grant_types: ['authorization_code'],
  }],
  features: {
    devInteractions: { enabled: true },
    deviceFlow: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'https://curator.example.org',
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: '', audience: 'leakcap-curator', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
