import sys,warnings; warnings.simplefilter("ignore")
import numpy as np
import tcpdynamics.validation.packet as P
for i in sys.argv[1:]:
    sc=P.load_scenario(f"/tmp/ref1/f/{i}.toml"); r=P.simulate(sc)
    print("==",i, open(f"/tmp/ref1/f/{i}.toml").read()[:100000] if len(open(f"/tmp/ref1/f/{i}.toml").read())<2500 else "long")
    ct=r.completion_time.values; j=np.where(ct<0)[0]
    print("neg",j, r.start.values[j], r.finish.values[j], "sent",r.sent_packets.values.ravel()[j] if "sent_packets" in r else "")
    if "connection_time" in r:
        c=r.connection_time.values; k=np.where(c<0)[0]; print("conn neg",[(int(r.connection_flow[x]),float(r.connection_start[x]),float(r.connection_finish[x]),float(r.connection_segments[x])) for x in k[:5]])
    for v in ("utilisation","link_utilisation"):
        if v in r: print(v,r[v].values.ravel())
