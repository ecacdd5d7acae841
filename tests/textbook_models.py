"""Models of other fields, as a reader types them: equilibria that meet, end, move to infinity, or lie on a grid."""

MODELS = {
    "Hayes: places of the grid lie on the boundary": "x' = a*x + b*x(t-1)\na = -1 in -3..3\nb = -0.5 in -3..3",
    "Mackey and Glass: the start is nearer to a rest that is more unstable": (
        "x' = b*x(t-T)/(1 + x(t-T)^n) - g*x\nb = 0.2 in 0.12..0.4\nT = 6 in 1..30\n"
        "g = 0.1 in 0.05..0.2\nn = 10 in 2..12\nx(0) = 0.5\nt in 0..200"
    ),
    "Wright: a chart of one parameter": "x' = -k*x(t - 1)*(1 + x)\nk = 1.2 in 0.1..3\nx(0) = 0.2",
    "an epidemic: two rests meet where it ends": (
        "S' = m*(1-S) - b*S*I\nI' = b*S*I - (g+m)*I\nm = 0.05 in 0.01..0.3\nb = 2 in 0.3..4\ng = 0.7 in 0.1..2\n"
        "S(0) = 0.9\nI(0) = 0.05\nt in 0..60"
    ),
    "an epidemic of one state": "I' = b*I*(1-I) - g*I\nb = 2 in 0.1..4\ng = 1 in 0.1..3\nI(0) = 0.1\nt in 0..20",
    "harvest in proportion": "x' = r*x*(1-x) - h*x\nr = 1 in 0.1..2\nh = 0.5 in 0..2\nx(0) = 0.5\nt in 0..20",
    "harvest at a constant rate: a rest ends": (
        "x' = x*(1-x/K) - h\nK = 2 in 0.5..5\nh = 0.2 in 0..1\nx(0) = 1.5\nt in 0..20"
    ),
    "a chemostat: a rest moves to infinity": (
        "s' = D*(s0 - s) - m*s*x/(k+s)\nx' = m*s*x/(k+s) - D*x\nD = 0.3 in 0.05..1\ns0 = 2 in 0.2..4\n"
        "m = 1 in 0.3..2\nk = 0.5 in 0.1..1\ns(0) = 1\nx(0) = 0.5\nt in 0..60"
    ),
    "Nicholson's blowflies": (
        "N' = P*N(t-tau)*exp(-N(t-tau)/a) - d*N\nP = 8 in 1..12\ntau = 4 in 0.5..15\na = 1 in 0.2..3\n"
        "d = 0.5 in 0.1..2\nN(0) = 0.4\nt in 0..100"
    ),
    "Volterra: every place is on the boundary": (
        "x' = a*x - x*y\ny' = x*y - m*y\na = 1 in 0.5..2\nm = 1 in 0.5..2\nx(0) = 0.5\nt in 0..20"
    ),
    "predator and prey": (
        "x' = r*x*(1-x/K) - a*x*y/(1+a*h*x)\ny' = e*a*x*y/(1+a*h*x) - m*y\nr = 1 in 0.2..3\nK = 4 in 0.5..10\n"
        "a = 1.2 in 0.3..3\nh = 0.6 in 0.1..1\ne = 0.7 in 0.2..1\nm = 0.4 in 0.1..1\nx(0) = 1.1\ny(0) = 1\nt in 0..80"
    ),
    "the Brusselator": (
        "x' = A + x^2*y - B*x - x\ny' = B*x - x^2*y\nA = 1 in 0.2..3 log\nB = 2.3 in 0.5..5\nx(0) = 1.2\ny(0) = 2\n"
        "t in 0..60"
    ),
    "Lorenz": (
        "x' = s*(y-x)\ny' = x*(r-z)-y\nz' = x*y - b*z\ns = 10 in 1..20\nr = 12 in 0.5..30\nb = 2.7 in 0.5..5\n"
        "x(0) = 1\ny(0) = 2\nz(0) = 9\nt in 0..15"
    ),
    "a ring of three genes": (
        "p' = n/(1+r(t-T)^h) - p\nq' = n/(1+p(t-T)^h) - q\nr' = n/(1+q(t-T)^h) - r\nn = 5 in 1..20 log\n"
        "T = 0.5 in 0..3\nh = 2 in 1..6\np(0) = 1.3\nq(0) = 0.9\nr(0) = 0.5\nt in 0..50"
    ),
    "FitzHugh and Nagumo": (
        "v' = v - v^3/3 - w + I\nw' = e*(v + a - b*w)\nI = 0.5 in 0..1.5\ne = 0.1 in 0.01..0.5 log\na = 0.7 in 0.1..1\n"
        "b = 0.8 in 0.2..1.2\nv(0) = -1\nw(0) = 1\nt in 0..150"
    ),
    "four states with three delays: fewer roots than are wanted": (
        "a' = k*(u - a) + 0.1*b\nb' = k*a(t-D) - b\nc' = b(t-2*D) - c^3 + u\nd' = c - d*d - 0.2*a(t-0.5)\n"
        "k = 0.9 in 0.1..2\nu = 1.1 in 0.5..2\nD = 0.7 in 0.05..3\nt in 0..30"
    ),
}
